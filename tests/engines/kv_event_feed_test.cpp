#include "engines/kv_event_feed.hpp"

#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engines/support_message_pack.hpp"

namespace evenkeel::engines {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::uint32_t>;

constexpr std::size_t block_size = 4;

std::string stored(const std::vector<std::uint64_t>& names, std::optional<std::uint64_t> parent, const Ids& tokens,
                   std::size_t size = block_size) {
  Packed out;
  out.list(3).number(1).list(1).list(5).text("BlockStored").numbers(names);
  if (parent) out.number(*parent);
  if (!parent) out.nil();
  out.numbers(tokens).number(size).number(0);
  return out.bytes();
}

std::string removed(const std::vector<std::uint64_t>& names) {
  return Packed().list(3).number(1).list(1).list(2).text("BlockRemoved").numbers(names).number(0).bytes();
}

std::string cleared() { return Packed().list(3).number(1).list(1).list(1).text("AllBlocksCleared").number(0).bytes(); }

Ids counting(std::uint32_t from, std::size_t count) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = from + static_cast<std::uint32_t>(i);
  return ids;
}

/// A feed whose worker answers replays from all that it ever published in this life.
struct Worker {
  explicit Worker(bool replays = true) : feed({.capacity = 1000, .replays = replays}) {
    feed.connected(now);
    answer();
  }
  /// Lost on its way if not `heard`.
  void publish(const std::string& payload, bool heard = true) {
    kept[next] = payload;
    if (heard) feed.published(next, payload, now);
    ++next;
    answer();
  }
  void answer() {
    while (const auto from = feed.take_replay_request()) {
      if (!answers) return;
      for (const auto& [number, payload] : kept) {
        if (number >= *from) feed.replayed(number, payload, now);
      }
      feed.replay_ended(now);
    }
  }
  void restart() {
    kept.clear();
    next = 0;
  }
  [[nodiscard]] std::optional<Tokens> held(const Ids& prompt) const {
    return feed.held(affinity::token_chain(prompt, block_size));
  }
  [[nodiscard]] KvFeedState state() const { return feed.status(now).state; }

  Time now{};
  std::map<std::uint64_t, std::string> kept;
  std::uint64_t next = 0;
  bool answers = true;
  KvEventFeed feed;
};

TEST(KvEventFeed, AnswersForWhatWasStoredAndNotRemoved) {
  Worker worker;
  EXPECT_EQ(worker.state(), KvFeedState::waiting);
  EXPECT_EQ(worker.held(counting(0, 8)), std::nullopt);
  worker.publish(stored({1, 2}, std::nullopt, counting(0, 8)));
  EXPECT_EQ(worker.state(), KvFeedState::live);
  EXPECT_EQ(worker.held(counting(0, 9)), Tokens(8));
  worker.publish(removed({2}));
  EXPECT_EQ(worker.held(counting(0, 9)), Tokens(4));
  worker.publish(cleared());
  EXPECT_EQ(worker.held(counting(0, 9)), Tokens(0));
  EXPECT_TRUE(worker.feed.take_emptied());
  EXPECT_FALSE(worker.feed.take_emptied());
  EXPECT_TRUE(worker.feed.status(worker.now).whole);
}

TEST(KvEventFeed, AGapIsFilledBeforeAnythingIsAnswered) {
  Worker worker;
  worker.publish(stored({1, 2}, std::nullopt, counting(0, 8)));
  worker.answers = false;
  worker.publish(removed({2}), false);
  worker.publish(stored({3}, std::nullopt, counting(90, 4)));
  EXPECT_EQ(worker.state(), KvFeedState::replaying);
  EXPECT_EQ(worker.held(counting(0, 8)), std::nullopt) << "it may claim what is gone";
  // The reply comes after all.
  for (std::uint64_t i = 0; i < 3; ++i) worker.feed.replayed(i, worker.kept[i], worker.now);
  worker.feed.replay_ended(worker.now);
  EXPECT_EQ(worker.held(counting(0, 8)), Tokens(4));
  EXPECT_EQ(worker.held(counting(90, 4)), Tokens(4));
  EXPECT_EQ(worker.feed.status(worker.now).gaps, 0U);
}

TEST(KvEventFeed, AGapThatStaysEmptiesTheIndexAndIsCounted) {
  Worker worker(false);
  worker.publish(stored({1, 2}, std::nullopt, counting(0, 8)));
  worker.publish(removed({2}), false);
  worker.publish(stored({3}, std::nullopt, counting(90, 4)));
  EXPECT_EQ(worker.state(), KvFeedState::live);
  EXPECT_EQ(worker.held(counting(0, 8)), Tokens(0)) << "what it held before is not believed any more";
  EXPECT_EQ(worker.held(counting(90, 4)), Tokens(4));
  const KvFeedStatus status = worker.feed.status(worker.now);
  EXPECT_EQ(status.gaps, 1U);
  EXPECT_FALSE(status.whole);
  EXPECT_FALSE(worker.feed.take_emptied()) << "the worker's cache is as it was";
}

TEST(KvEventFeed, ARestartEmptiesTheIndex) {
  Worker worker;
  worker.publish(stored({1, 2}, std::nullopt, counting(0, 8)));
  worker.publish(stored({4}, std::nullopt, counting(50, 4)));
  worker.restart();
  worker.publish(stored({7}, std::nullopt, counting(90, 4)));
  EXPECT_EQ(worker.held(counting(0, 8)), Tokens(0));
  EXPECT_EQ(worker.held(counting(90, 4)), Tokens(4));
  EXPECT_TRUE(worker.feed.take_emptied());
  EXPECT_TRUE(worker.feed.status(worker.now).whole);
  EXPECT_EQ(worker.feed.status(worker.now).restarts, 1U);
}

TEST(KvEventFeed, ABrokenConnectionIsNoAnswerUntilTheWorkerIsKnownAgain) {
  Worker worker;
  worker.publish(stored({1, 2}, std::nullopt, counting(0, 8)));
  worker.feed.connection_lost();
  EXPECT_EQ(worker.state(), KvFeedState::away);
  EXPECT_EQ(worker.held(counting(0, 8)), std::nullopt);
  worker.feed.connected(worker.now);
  worker.answer();
  EXPECT_EQ(worker.state(), KvFeedState::live);
  EXPECT_EQ(worker.held(counting(0, 8)), Tokens(8));
}

TEST(KvEventFeed, AWorkerThatFillsBlocksAndTellsOfNoneIsSilent) {
  Worker worker;
  worker.publish(stored({1}, std::nullopt, counting(0, 4)));
  worker.feed.served({.tokens = 100, .begun = 10, .open = 1}, worker.now);
  worker.now += 60s;
  // Two requests at most, and few tokens: they may fill no block.
  worker.feed.served({.tokens = 130, .begun = 11, .open = 1}, worker.now);
  EXPECT_EQ(worker.state(), KvFeedState::live);
  worker.feed.served({.tokens = 300, .begun = 11, .open = 1}, worker.now);
  EXPECT_EQ(worker.state(), KvFeedState::silent);
  EXPECT_EQ(worker.held(counting(0, 4)), std::nullopt);
  EXPECT_EQ(worker.feed.status(worker.now).age, 60s);
  // It speaks again, and nothing was missed.
  worker.publish(stored({2}, 1, counting(4, 4)));
  EXPECT_EQ(worker.state(), KvFeedState::live);
  EXPECT_EQ(worker.held(counting(0, 8)), Tokens(8));
}

TEST(KvEventFeed, ManyTokensAtOnceAreNoSilence) {
  Worker worker;
  worker.publish(stored({1}, std::nullopt, counting(0, 4)));
  worker.feed.served({.tokens = 0, .begun = 0, .open = 0}, worker.now);
  worker.now += 4s;
  worker.feed.served({.tokens = 100'000, .begun = 1, .open = 1}, worker.now);
  EXPECT_EQ(worker.state(), KvFeedState::live);
}

TEST(KvEventFeed, ABatchThatCannotBeReadEmptiesTheIndex) {
  Worker worker;
  worker.publish(stored({1}, std::nullopt, counting(0, 4)));
  worker.publish("\x93\x01");
  EXPECT_EQ(worker.held(counting(0, 4)), Tokens(0)) << "it may have told of evictions";
  EXPECT_EQ(worker.feed.status(worker.now).unreadable, 1U);
  EXPECT_FALSE(worker.feed.status(worker.now).whole);
  worker.publish(stored({2}, std::nullopt, counting(9, 4)));
  EXPECT_EQ(worker.held(counting(9, 4)), Tokens(4));
}

TEST(KvEventFeed, BlocksOfAnotherSizeBeginAnew) {
  Worker worker;
  worker.publish(stored({1}, std::nullopt, counting(0, 4)));
  worker.publish(stored({2}, std::nullopt, counting(50, 8), 8));
  EXPECT_EQ(worker.feed.block_size(), 8U);
  EXPECT_EQ(worker.held(counting(50, 8)), Tokens(8));
  EXPECT_EQ(worker.held(counting(0, 4)), Tokens(0));
}

TEST(KvEventFeed, LongRowsArePlacedWhole) {
  Worker worker;
  std::vector<std::uint64_t> names(700);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = 1000 + i;
  worker.publish(stored(names, std::nullopt, counting(0, names.size() * block_size)));
  EXPECT_EQ(worker.held(counting(0, names.size() * block_size)), Tokens(2800));
  worker.publish(stored({9, 10}, 77, counting(0, 8)));
  EXPECT_EQ(worker.feed.status(worker.now).unplaced, 2U);
}

/// A worker with a cache of its own, whose batches get lost, whose connection breaks and which restarts at any moment:
/// whenever its feed answers, the answer is what the cache holds, or less while part of it was never told.
TEST(KvEventFeed, NeverClaimsMoreThanTheWorkerHoldsWhateverHappens) {
  Random random(5);
  for (const bool replays : {true, false}) {
    Worker worker(replays);
    std::map<Ids, std::uint64_t> cache;  // beginnings held, by the worker's names
    std::uint64_t next_name = 1;
    std::size_t answered = 0;
    std::size_t exact = 0;
    for (int turn = 0; turn < 30'000; ++turn) {
      Ids prompt(block_size * (1 + random.below(4)));
      for (auto& id : prompt) id = static_cast<std::uint32_t>(random.below(2));
      const auto beginning = [&](std::size_t blocks) {
        return Ids(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(blocks * block_size));
      };
      std::size_t have = 0;
      while (have < prompt.size() / block_size && cache.contains(beginning(have + 1))) ++have;
      const bool heard = random.below(20) != 0;
      const auto what = random.below(1000);
      if (what == 0) {
        cache.clear();
        worker.restart();
        if (random.below(2) == 0) worker.feed.connection_lost();
      } else if (what < 5) {
        worker.feed.connection_lost();
        worker.feed.connected(worker.now);
        worker.answer();
      } else if (what == 5) {
        worker.kept.clear();  // too long ago
      } else if (what < 500 && have < prompt.size() / block_size) {
        std::vector<std::uint64_t> names;
        std::optional<std::uint64_t> parent;
        if (have > 0) parent = cache.at(beginning(have));
        for (std::size_t i = have; i < prompt.size() / block_size; ++i) {
          names.push_back(next_name);
          cache[beginning(i + 1)] = next_name++;
        }
        worker.publish(
            stored(names, parent, Ids(prompt.begin() + static_cast<std::ptrdiff_t>(have * block_size), prompt.end())),
            heard);
        have = prompt.size() / block_size;
        if (!heard) continue;  // nobody can know yet
      } else if (what < 900 && have > 0) {
        // Its end first, as engines evict; all that begins so goes with it.
        std::vector<std::uint64_t> gone;
        for (auto at = cache.begin(); at != cache.end();) {
          const Ids& each = at->first;
          const Ids cut = beginning(have);
          const bool goes = each.size() >= cut.size() && std::equal(cut.begin(), cut.end(), each.begin());
          if (goes) gone.push_back(at->second);
          at = goes ? cache.erase(at) : std::next(at);
        }
        --have;
        worker.publish(removed(gone), heard);
        if (!heard) continue;
      }
      if (worker.next == 0 || worker.kept.empty()) continue;  // what was lost last cannot be missed yet
      if (!worker.kept.empty() && worker.feed.status(worker.now).sequence != worker.next - 1) continue;
      const auto held = worker.held(prompt);
      if (!held) continue;
      ++answered;
      ASSERT_LE(held->value(), static_cast<std::int64_t>(have * block_size)) << turn;
      if (!worker.feed.status(worker.now).whole) continue;
      ++exact;
      ASSERT_EQ(held->value(), static_cast<std::int64_t>(have * block_size)) << turn;
    }
    EXPECT_GT(answered, 10'000U);
    if (replays) {
      EXPECT_GT(exact, 5'000U);
    }
  }
}

}  // namespace
}  // namespace evenkeel::engines
