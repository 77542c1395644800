#include "gateway/peer_board.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "routing/policy.hpp"

namespace evenkeel::gateway {
namespace {

using namespace std::chrono_literals;
using dispatch::WorkerState;

constexpr ModelId model{7};
constexpr PeerNumber first{0};
constexpr PeerNumber second{1};

const peers::Fingerprint served{"m", 4096, "vllm", "fp8", {}, {}, {}, {}};

config::PeerSetting peer_named(const std::string& name) {
  config::PeerSetting peer;
  peer.url = "http://" + name + ":1";
  peer.name = name;
  return peer;
}

/// A router with an own worker of two slots and two declared peers, in virtual time.
struct Bench {
  explicit Bench(std::vector<config::PeerSetting> declared = {peer_named("left"), peer_named("right")}) {
    settings.peers = std::move(declared);
    settings.peer_options.probe_interval = 5s;
    auto policy = routing::make_policy("late_tail");
    dispatcher.emplace(dispatch::DispatcherOptions{}, std::move(*policy), clock, 1);
    breakers.emplace(settings.health, *dispatcher, clock);
    dispatch::WorkerSpec own;
    own.name = "own";
    own.models = {model};
    own.max_in_flight = 2;
    own_worker = dispatcher->add_worker(std::move(own));
    breakers->add(own_worker);
    breakers->set_usable(own_worker, true);
    board.emplace(settings, *dispatcher, *breakers, clock, SelfIdentity{"me", "1234", 100});
    board->set_hosted({HostedModel{model, "m", {}, served, true, {}}});
  }

  /// What the peer answers to a probe that is sent and answered now.
  void answers(PeerNumber peer, std::int64_t slots, std::optional<peers::News> news = peers::News{1, 1, 0, 0}) {
    PeerBoard::Said said;
    said.model = model;
    said.status.ready = true;
    said.status.fingerprint = served;
    said.status.capacity = std::to_string(slots);
    said.status.news = news;
    board->probe_sent(peer);
    board->probe_answered(peer, std::span(&said, 1));
  }

  WorkerId joined(PeerNumber peer) {
    const WorkerId worker = board->add(peer, model, "m");
    board->compare_with(worker, served);
    return worker;
  }

  [[nodiscard]] dispatch::WorkerStatus at(WorkerId worker) const { return dispatcher->workers().at(worker.value); }
  [[nodiscard]] dispatch::Decision ask(bool from_here = true) {
    dispatch::Submission what;
    what.model = model;
    if (!from_here) what.excluded.add(own_worker);
    struct Nobody final : dispatch::Waiter {
      void granted(dispatch::Granted) override {}
      void refused(dispatch::Refused) override {}
    };
    return dispatcher->submit(what, [] { return std::make_shared<Nobody>(); });
  }

  config::ServeSettings settings;
  ManualClock clock;
  std::optional<dispatch::Dispatcher> dispatcher;
  std::optional<Breakers> breakers;
  WorkerId own_worker;
  std::optional<PeerBoard> board;
};

// --- who asks ----------------------------------------------------------------------------------------------

struct Asked {
  explicit Asked(const std::string& fields) : bytes("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n") {
    EXPECT_EQ(parser.parse_head(bytes), http::ParseStatus::done);
  }
  std::string bytes;
  http::MessageParser parser{http::MessageParser::Direction::request};
};

std::optional<PeerNumber> who(const Bench& bench, std::string_view host, const std::string& fields) {
  const Asked asked(fields);
  return bench.board->identify(host, asked.parser.head(), asked.bytes);
}

TEST(PeerIdentity, AMarkerCountsFromADeclaredAddressOnly) {
  Bench bench;
  bench.board->set_hosts(first, {"10.0.0.1"});
  bench.board->set_hosts(second, {"10.0.0.2"});
  EXPECT_EQ(who(bench, "10.0.0.1", "X-Evenkeel-Hop: whoever\r\n"), first);
  EXPECT_EQ(who(bench, "10.0.0.2", "x-lobes-proxied: primary\r\n"), second);
  EXPECT_EQ(who(bench, "::ffff:10.0.0.2", "X-Evenkeel-Hop: whoever\r\n"), second) << "as a dual-stack socket shows it";
  EXPECT_FALSE(who(bench, "10.0.0.3", "X-Evenkeel-Hop: left\r\n")) << "a forged marker";
  EXPECT_FALSE(who(bench, "10.0.0.1", "")) << "a client on the peer's box";
}

TEST(PeerIdentity, AKeyThatIsAskedForMustBeThere) {
  setenv("EVENKEEL_TEST_PEER_KEY", "sesame", 1);
  auto left = peer_named("left");
  left.accept_key_env = "EVENKEEL_TEST_PEER_KEY";
  Bench bench({left, peer_named("right")});
  bench.board->set_hosts(first, {"10.0.0.1"});
  EXPECT_FALSE(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\n"));
  EXPECT_FALSE(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\nAuthorization: Bearer sesamf\r\n"));
  EXPECT_FALSE(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\nAuthorization: Bearer sesame2\r\n"));
  EXPECT_EQ(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\nAuthorization: Bearer sesame\r\n"), first);
}

TEST(PeerIdentity, OnOneMachineTheNameTellsThemApart) {
  Bench bench;
  bench.board->set_hosts(first, {"127.0.0.1"});
  bench.board->set_hosts(second, {"127.0.0.1"});
  EXPECT_EQ(who(bench, "127.0.0.1", "X-Evenkeel-Hop: right\r\n"), second) << "as it is called here";
  bench.board->set_identity(second, "spark", "ab12", true);
  EXPECT_EQ(who(bench, "127.0.0.1", "X-Evenkeel-Hop: spark\r\n"), second) << "as it calls itself";
  EXPECT_EQ(who(bench, "::1", "X-Evenkeel-Hop: ab12\r\n"), second);
  EXPECT_EQ(who(bench, "127.0.0.1", "X-Evenkeel-Hop: nobody\r\n"), first);
}

TEST(PeerIdentity, AMarkerOfAnotherKindIsNone) {
  Bench bench;
  bench.board->set_hosts(first, {"10.0.0.1"});
  bench.board->set_identity(first, "", "", false);
  EXPECT_FALSE(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\n"));
  EXPECT_EQ(who(bench, "10.0.0.1", "X-Lobes-Proxied: primary\r\n"), first);
}

// --- what is sent to peers ---------------------------------------------------------------------------------

TEST(PeerShares, TheDispatcherHearsWhatMayBeUsed) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  bench.answers(first, 4, peers::News{1, 1, 1, 0});
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 3);
  EXPECT_EQ(bench.at(worker).foreign_requests, 1);
}

TEST(PeerShares, NewsWithAnAnswerCountAtOnceAndInTheirOrder) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 4);
  PeerBoard::Dispatch dispatch(*bench.board, worker);
  dispatch.heard({{1, 5, 3, 1}, 4, {}});
  EXPECT_EQ(bench.at(worker).foreign_requests, 2);
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 2);
  bench.board->pushed(first, model, {{1, 4, 4, 1}, 4, {}});  // overtaken on its way
  EXPECT_EQ(bench.at(worker).foreign_requests, 2);
  bench.board->pushed(first, model, {{1, 6, 1, 1}, 4, {}});
  EXPECT_EQ(bench.at(worker).foreign_requests, 0);
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 4);
}

TEST(PeerShares, ADispatchIsCountedUntilItEndsHoweverItEnds) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 2);
  {
    PeerBoard::Dispatch one(*bench.board, worker);
    PeerBoard::Dispatch two(*bench.board, worker);
    PeerBoard::Dispatch moved = std::move(two);
    EXPECT_EQ(bench.board->rows().front().open, 2);
    PeerBoard::Dispatch third(*bench.board, worker);
    EXPECT_FALSE(one.ahead());
    EXPECT_TRUE(third.ahead()) << "both slots were taken when it was sent";
    third.sent_back(PeerLoad{{1, 9, 2, 2}, 2, {}});
    EXPECT_FALSE(third.open());
    EXPECT_EQ(bench.board->rows().front().open, 2);
    one.end();
    one.end();
    EXPECT_EQ(bench.board->rows().front().open, 1);
  }
  const auto row = bench.board->rows().front();
  EXPECT_EQ(row.open, 0);
  EXPECT_EQ(row.sent, 3U);
  EXPECT_EQ(row.sent_back, 1U);
}

TEST(PeerShares, TheWayIsWhatTheHeadOfAnAnswerTookBeyondWhatThePeerSays) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 2, peers::News{1, 1, 0, 0});
  PeerBoard::Dispatch dispatch(*bench.board, worker);
  bench.clock.advance(120ms);
  dispatch.heard({{1, 2, 1, 1}, 2, 100ms});
  EXPECT_EQ(bench.board->rows().front().forward_delay, 0ms) << "a stream has only begun";
  bench.clock.advance(880ms);
  dispatch.answered();
  dispatch.end();
  EXPECT_EQ(bench.board->rows().front().forward_delay, 10ms);
  EXPECT_EQ(bench.board->rows().front().share.max_in_flight, 2) << "1 % of what it takes there: nothing is sent ahead";
}

TEST(PeerShares, SentBackWithoutNewsCountsAsFullUntilAskedAgain) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 2, std::nullopt);
  PeerBoard::Dispatch dispatch(*bench.board, worker);
  dispatch.sent_back({});
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 0);
  EXPECT_TRUE(std::holds_alternative<dispatch::Queued>(bench.ask(false)));
  bench.clock.advance(260ms);
  EXPECT_TRUE(bench.board->probe_due(first)) << "somebody waits, and what is known is older than 250 ms";
  bench.answers(first, 2, std::nullopt);
  EXPECT_EQ(bench.at(worker).leases_begun, 1U) << "what waited has entered";
}

TEST(PeerShares, R10OneLostProbeRemovesNobodyTwoDo) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 2);
  bench.board->probe_sent(first);
  bench.board->probe_lost(first, "timed out");
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
  EXPECT_TRUE(bench.board->boxes()[0].up);
  bench.board->probe_sent(first);
  bench.board->probe_lost(first, "timed out");
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  EXPECT_FALSE(bench.board->boxes()[0].up);
  EXPECT_EQ(bench.board->boxes()[0].lost, 2U);
  EXPECT_EQ(bench.board->boxes()[0].last_error, "timed out");
  bench.answers(first, 2);
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
}

TEST(PeerShares, ProbesGoByTheirInterval) {
  Bench bench;
  EXPECT_TRUE(bench.board->probe_due(first)) << "at once at the start";
  bench.board->probe_sent(first);
  bench.clock.advance(6s);
  EXPECT_FALSE(bench.board->probe_due(first)) << "one at a time";
  EXPECT_TRUE(bench.board->probe_due(second)) << "one that hangs delays no other";
  bench.board->probe_lost(first, "timed out");
  EXPECT_TRUE(bench.board->probe_due(first));
  bench.answers(first, 2);
  EXPECT_FALSE(bench.board->probe_due(first));
  bench.clock.advance(5s);
  EXPECT_TRUE(bench.board->probe_due(first));
}

TEST(PeerShares, R8AModelThatIsExchangedIsUsedNoMore) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 4);
  PeerBoard::Said said;
  said.model = model;
  said.status.ready = true;
  said.status.fingerprint = served;
  said.status.fingerprint.quantization = "int4";
  said.status.capacity = "4";
  bench.board->probe_sent(first);
  bench.board->probe_answered(first, std::span(&said, 1));
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  EXPECT_EQ(bench.board->rows().front().share.why_not, "quantization differs: fp8 here, int4 there");
  bench.board->probe_sent(first);
  bench.board->probe_answered(first, {});
  EXPECT_EQ(bench.board->rows().front().share.why_not, "does not serve the model");
  bench.answers(first, 4);
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 1) << "its capacity was measured with another model";
}

TEST(PeerShares, WhatIsServedHereMayBeExchangedToo) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 4);
  auto ours = served;
  ours.max_model_len = 8192;
  bench.board->compare_with(worker, ours);
  bench.board->tick();
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  EXPECT_EQ(bench.board->rows().front().share.why_not, "max_model_len differs: 8192 here, 4096 there");
}

TEST(PeerShares, WhatOthersAreComparedWithNeedNotBeKnownInFull) {
  Bench bench;
  const WorkerId worker = bench.board->add(first, model, "m");
  PeerBoard::Said said;
  said.model = model;
  said.status.ready = true;
  said.status.fingerprint.served_id = "m";
  bench.board->probe_sent(first);
  bench.board->probe_answered(first, std::span(&said, 1));
  EXPECT_EQ(bench.board->rows().front().share.why_not, "served_id is not known here");
  bench.board->compare_with(worker, std::nullopt);
  bench.board->tick();
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
}

TEST(PeerShares, ABarredPeerIsNeitherUsedNorKnown) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.board->set_hosts(first, {"10.0.0.1"});
  bench.answers(first, 4);
  bench.board->bar(first, "it is this router itself");
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  EXPECT_FALSE(who(bench, "10.0.0.1", "X-Evenkeel-Hop: left\r\n"));
  bench.board->bar(first, "");
  EXPECT_EQ(bench.at(worker).state, WorkerState::routable);
}

TEST(PeerShares, ABreakerHoldsBackWhatProbesFindWell) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 4);
  for (int i = 0; i < bench.settings.health.breaker_faults; ++i) {
    bench.breakers->answered(worker, fleet::Outcome::transport_fault);
  }
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  bench.answers(first, 4);
  EXPECT_EQ(bench.at(worker).state, WorkerState::unroutable);
  EXPECT_EQ(bench.at(bench.own_worker).state, WorkerState::routable) << "the own engine is not concerned";
}

TEST(PeerShares, CapacitiesSwitchedOffAreNobodysWord) {
  Bench bench;
  bench.settings.peer_options.capacities = false;
  const WorkerId worker = bench.joined(first);
  bench.answers(first, 4);
  EXPECT_EQ(bench.at(worker).spec.max_in_flight, 1);
  EXPECT_FALSE(bench.board->load_for(first, model).slots) << "nor is ours published: unknown differs from one";
}

TEST(PeerShares, ItsRatesCountForItsWorkerAndGoWithIt) {
  Bench bench;
  const WorkerId worker = bench.joined(first);
  PeerBoard::Said said;
  said.model = model;
  said.status.ready = true;
  said.status.fingerprint = served;
  said.status.capacity = "2";
  said.status.rates = {{1, 49.24}, {2, 87.82}};
  bench.board->probe_sent(first);
  bench.board->probe_answered(first, std::span(&said, 1));
  EXPECT_NEAR(bench.at(worker).rate, 49.24, 1e-9);
  bench.answers(first, 2);
  EXPECT_EQ(bench.at(worker).rate, 0) << "told no more: what is learned here counts";
}

// --- what peers send here ----------------------------------------------------------------------------------

TEST(PeerGuests, AreToldTheLoadOfOneInstant) {
  Bench bench;
  auto own = bench.ask();
  const PeerLoad before = bench.board->load_for(first, model);
  EXPECT_EQ(before.news.active, 1);
  EXPECT_EQ(before.news.yours, 0);
  EXPECT_EQ(before.slots, 2);
  EXPECT_EQ(before.news.epoch, 100U);
  PeerBoard::TakenOn guest(*bench.board, first, model);
  auto lease = bench.ask();
  const PeerLoad now = bench.board->load_for(first, model, 5ms);
  EXPECT_EQ(now.news.active, 2);
  EXPECT_EQ(now.news.yours, 1);
  EXPECT_EQ(now.took, 5ms);
  EXPECT_TRUE(now.news.later_than(before.news));
  EXPECT_EQ(bench.board->load_for(second, model).news.yours, 0);
}

TEST(PeerGuests, WaitWhereTheyWereSentAheadOneForEachSlot) {
  Bench bench;
  auto one = bench.ask();
  auto two = bench.ask();
  PeerBoard::TakenOn a(*bench.board, first, model);
  PeerBoard::TakenOn b(*bench.board, second, model);
  PeerBoard::TakenOn c(*bench.board, second, model);
  EXPECT_TRUE(a.may_wait());
  EXPECT_TRUE(b.may_wait());
  EXPECT_FALSE(c.may_wait());
  EXPECT_EQ(bench.board->load_for(first, model).news.active, 4) << "two in service, two waiting";
  a.placed();
  EXPECT_TRUE(c.may_wait());
  c.end();
  b.end();
  a.end();
  EXPECT_EQ(bench.board->load_for(second, model).news.yours, 0);
  EXPECT_EQ(bench.board->load_for(second, model).news.active, 2);
}

TEST(PeerGuests, OfSlotsThatNobodySaidNothingIsSaid) {
  Bench bench;
  bench.board->set_hosted({HostedModel{model, "m", {}, served, false, {}}});
  EXPECT_FALSE(bench.board->load_for(first, model).slots);
}

TEST(PeerGuests, ASlotThatIsFreedUnsaidIsSeen) {
  Bench bench;
  bench.board->set_identity(first, "l", "1", true);
  auto one = bench.ask();
  auto two = bench.ask();
  (void)bench.board->load_for(first, model);
  bench.board->tick();
  EXPECT_TRUE(bench.board->take_releases().empty());
  two = dispatch::Queued{};
  bench.board->tick();
  EXPECT_EQ(bench.board->take_releases().size(), 1U);
}

TEST(PeerGuests, WhoWasToldFullIsToldOnceThatASlotIsFree) {
  Bench bench;
  bench.board->set_identity(first, "l", "1", true);
  bench.board->set_identity(second, "r", "2", true);
  int rung = 0;
  bench.board->set_alarm([&] { ++rung; });
  auto one = bench.ask();
  (void)bench.board->load_for(second, model);
  bench.board->released(model);
  EXPECT_EQ(rung, 0) << "nobody was told full";
  auto two = bench.ask();
  (void)bench.board->load_for(first, model);
  bench.board->released(model);
  bench.board->released(model);
  EXPECT_EQ(rung, 1);
  const auto releases = bench.board->take_releases();
  ASSERT_EQ(releases.size(), 1U);
  EXPECT_EQ(releases[0].peer, first);
  EXPECT_EQ(releases[0].model, model);
  EXPECT_TRUE(bench.board->take_releases().empty());
}

}  // namespace
}  // namespace evenkeel::gateway
