// The dispatcher's index of prefixes: what it learns from placements, and what a policy is shown of it.
#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

Submission asking_for(const std::vector<std::uint64_t>& ids, double block_tokens = 100, std::int64_t extra = 10) {
  auto chain = std::make_shared<affinity::PromptChain>();
  affinity::append_id_chain(ids, 1, chain->links);
  chain->block_tokens = block_tokens;
  Submission what = asking();
  what.prompt_tokens = Tokens(static_cast<std::int64_t>(static_cast<double>(ids.size()) * block_tokens) + extra);
  what.prefix = std::move(chain);
  return what;
}

/// Shows what it is told, and places each request at the worker it is told, or not at all.
class Watching final : public routing::Policy {
 public:
  struct Seen {
    std::vector<std::vector<std::int64_t>> hits;  ///< of each request of the last plan
    std::optional<std::uint32_t> place = 0;
    bool wants = true;
  };
  explicit Watching(Seen& seen) : seen_(seen) {}
  [[nodiscard]] std::string_view name() const override { return "watching"; }
  [[nodiscard]] bool wants_hits() const override { return seen_.wants; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView&, Time, Random&,
            std::vector<fleet::Placement>& placements) override {
    seen_.hits.clear();
    for (std::uint32_t i = 0; i < waiting.size(); ++i) {
      auto& of = seen_.hits.emplace_back();
      for (const Tokens each : waiting[i].hits) of.push_back(each.value());
      if (seen_.place) placements.push_back({i, *seen_.place, "told", 0, 1});
    }
  }

 private:
  Seen& seen_;
};

struct Watched {
  explicit Watched(bool wants = true) {
    seen.wants = wants;
    desk.emplace(DispatcherOptions{}, std::make_unique<Watching>(seen));
    for (const char* name : {"a", "b"}) {
      const WorkerId id = desk->worker(name, 1000);
      desk->dispatcher.set_prefix_cache(id, 100);
    }
  }
  using Hits = std::vector<std::vector<std::int64_t>>;
  Watching::Seen seen;
  std::optional<Desk> desk;
};

TEST(PrefixHits, APlacementIsRememberedAndShownToWhatBeginsAlike) {
  Watched watched;
  watched.seen.place = 1;
  const auto first = watched.desk->submit(asking_for({1, 2, 3}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 0}}));
  const auto longer = watched.desk->submit(asking_for({1, 2, 3, 4}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 300}}));
  const auto other = watched.desk->submit(asking_for({1, 9}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 100}}));
  const auto same = watched.desk->submit(asking_for({1, 2, 3}, 100, 0));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 299}})) << "the last token is always computed";
  const auto nothing = watched.desk->submit(asking());
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 0}}));
}

TEST(PrefixHits, WhatAWorkerTellsCountsMoreThanAGuess) {
  Watched watched;
  watched.seen.place = 1;
  const auto first = watched.desk->submit(asking_for({1, 2, 3}));
  Submission again = asking_for({1, 2, 3});
  again.told_hits = std::make_shared<ToldHits>(ToldHits{{WorkerId{0}, Tokens(160)}});
  const auto told = watched.desk->submit(again);
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{160, 300}})) << "of the other the guess counts";
  again.told_hits = std::make_shared<ToldHits>(ToldHits{{WorkerId{1}, Tokens(0)}, {WorkerId{0}, Tokens(99'999)}});
  const auto both = watched.desk->submit(again);
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{309, 0}})) << "the last token is always computed";
}

TEST(PrefixHits, WhatAWorkerTellsIsShownThoughNoCacheIsKnown) {
  Watching::Seen seen;
  Desk desk(DispatcherOptions{}, std::make_unique<Watching>(seen));
  desk.worker("a", 1000);
  const auto plain = desk.submit(asking());
  EXPECT_EQ(seen.hits, (Watched::Hits{{}}));
  Submission what = asking();
  what.told_hits = std::make_shared<ToldHits>(ToldHits{{WorkerId{0}, Tokens(5)}, {WorkerId{7}, Tokens(9)}});
  const auto told = desk.submit(what);
  EXPECT_EQ(seen.hits, (Watched::Hits{{5}}));
}

TEST(PrefixHits, WhatIsHitIsNotOwed) {
  Watched watched;
  const auto first = watched.desk->submit(asking_for({1, 2, 3}));
  const auto again = watched.desk->submit(asking_for({1, 2, 3}));
  const fleet::Load load = watched.desk->dispatcher.workers()[0].load;
  EXPECT_EQ(load.prompt_tokens, Tokens(620));
  EXPECT_EQ(load.queued_prompt, Tokens(310 + 10));
}

TEST(PrefixHits, OfAllThatWaitTheHeadIsShownWhatIsKnownNowAndTheRestWhatWasKnownWhenItCame) {
  Watched watched;
  watched.seen.place.reset();  // holds
  std::vector<SlipPtr> slips;
  for (int i = 0; i < 20; ++i) slips.push_back(watched.desk->submit(asking_for({1, 2, 3})));
  static_cast<void>(watched.desk->dispatcher.lease_at(WorkerId{1}, asking_for({1, 2, 3})));
  watched.desk->pass(milliseconds(50));
  ASSERT_EQ(watched.seen.hits.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(watched.seen.hits[i], (std::vector<std::int64_t>{0, i < 16 ? 300 : 0})) << i;
  }
}

TEST(PrefixHits, AreForgottenWithTheWorkersCacheAndAreOfWorkersThatHaveOne) {
  Watched watched;
  watched.seen.place = 1;
  const auto first = watched.desk->submit(asking_for({1, 2, 3}));
  watched.desk->dispatcher.forget_prefixes(WorkerId{1});
  const auto second = watched.desk->submit(asking_for({1, 2, 3}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 0}}));
  watched.desk->dispatcher.set_prefix_cache(WorkerId{1}, 2);
  const auto third = watched.desk->submit(asking_for({1, 2, 3}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 200}}));
  const WorkerId without = watched.desk->worker("c", 1000);
  watched.seen.place = without.value;
  const auto fourth = watched.desk->submit(asking_for({1, 2, 3}));
  const auto fifth = watched.desk->submit(asking_for({1, 2, 3}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{0, 200, 0}}));
}

TEST(PrefixHits, AreNotKeptForAPolicyThatDoesNotAsk) {
  Watched watched(false);
  const auto first = watched.desk->submit(asking_for({1, 2, 3}));
  const auto second = watched.desk->submit(asking_for({1, 2, 3}));
  EXPECT_EQ(watched.seen.hits, (Watched::Hits{{}}));
  EXPECT_EQ(watched.desk->dispatcher.workers()[0].load.queued_prompt, Tokens(620));
}

TEST(PrefixHits, AreKeptOfWorkersThatPrefillWhateverThePolicyIs) {
  Watched watched(false);
  WorkerSpec spec;
  spec.name = "p";
  spec.models = {ModelId{7}};
  spec.max_in_flight = 10;
  spec.role = fleet::Role::prefill;
  Dispatcher& dispatcher = watched.desk->dispatcher;
  const WorkerId prefills = dispatcher.add_worker(std::move(spec));
  dispatcher.set_state(prefills, WorkerState::routable);
  dispatcher.set_prefix_cache(prefills, 100);
  Submission what = asking_for({1, 2, 3});
  what.model = ModelId{7};
  const auto first = watched.desk->submit(what);
  EXPECT_EQ(first->receipt.expected_hit, Tokens(0));
  const auto second = watched.desk->submit(what);
  EXPECT_EQ(second->receipt.expected_hit, Tokens(300));
  EXPECT_EQ(dispatcher.prefixes(WorkerId{0}).capacity, 0U);
}

TEST(PrefixHits, ItIsToldWhatIsKnown) {
  Watched watched;
  watched.seen.place = 1;
  Dispatcher& dispatcher = watched.desk->dispatcher;
  EXPECT_EQ(dispatcher.prefixes(WorkerId{1}).capacity, 100U);
  const auto first = watched.desk->submit(asking_for({1, 2, 3}, 50));
  EXPECT_EQ(dispatcher.prefixes(WorkerId{1}).blocks, 3U);
  EXPECT_EQ(dispatcher.prefixes(WorkerId{1}).block_tokens, 50) << "the first there was";
  const auto second = watched.desk->submit(asking_for({4, 5}, 114));
  EXPECT_EQ(dispatcher.prefixes(WorkerId{1}).block_tokens, 51);
  dispatcher.forget_prefixes(WorkerId{1});
  EXPECT_EQ(dispatcher.prefixes(WorkerId{1}).blocks, 0U);
  EXPECT_EQ(dispatcher.workers()[1].prefixes.forgotten, 1U);
  EXPECT_EQ(dispatcher.prefixes(WorkerId{9}).capacity, 0U);
  const auto without = watched.desk->submit(asking());
  EXPECT_EQ(without->receipt.expected_hit, std::nullopt);
}

TEST(PrefixHits, LeastWaitReturnsAConversationToItsWorkerUntilThatCostsMoreThanItsPrefix) {
  Desk desk({}, "least_wait");
  for (const char* name : {"a", "b", "c"}) desk.dispatcher.set_prefix_cache(desk.worker(name, 1000), 1000);
  const auto busy = desk.submit(3, asking());  // one each
  const auto first = desk.submit(asking_for({1, 2, 3, 4}, 1000));
  const WorkerId home = first->lease.worker();
  int stayed = 0;
  std::vector<SlipPtr> turns;
  for (int turn = 0; turn < 12; ++turn) {
    turns.push_back(desk.submit(asking_for({1, 2, 3, 4}, 1000)));
    stayed += turns.back()->lease.worker() == home ? 1 : 0;
  }
  EXPECT_GE(stayed, 3);  // a prefix of 4000 tokens is worth the wait for some requests of 256
  EXPECT_LE(stayed, 8);  // and not for all of twelve at once
}

}  // namespace
}  // namespace evenkeel::dispatch
