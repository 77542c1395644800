#include "gateway/breakers.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policy.hpp"

namespace evenkeel::gateway {
namespace {

using dispatch::WorkerState;
using fleet::Outcome;
using std::chrono::seconds;

constexpr ModelId model{1};

class BreakersTest : public ::testing::Test {
 protected:
  void build(std::size_t workers) {
    dispatcher.emplace(dispatch::DispatcherOptions{}, std::move(*routing::make_policy("round_robin")), clock, 1);
    breakers.emplace(settings, *dispatcher, clock);
    for (std::size_t i = 0; i < workers; ++i) {
      const WorkerId id = dispatcher->add_worker({"w" + std::to_string(i), {model}, 8});
      breakers->add(id);
    }
  }
  /// So many workers, each seen alive.
  void build_alive(std::size_t workers) {
    build(workers);
    for (std::uint32_t i = 0; i < workers; ++i) probe(i, true, settings.rise);
  }
  void probe(std::uint32_t worker, bool good, int times = 1) {
    for (int i = 0; i < times; ++i) breakers->probed(WorkerId{worker}, good);
  }
  void answer(std::uint32_t worker, Outcome outcome, int times = 1) {
    for (int i = 0; i < times; ++i) breakers->answered(WorkerId{worker}, outcome);
  }
  void pass(Duration time) {
    clock.advance(time);
    breakers->tick();
  }
  [[nodiscard]] WorkerState state(std::uint32_t worker) const { return dispatcher->workers().at(worker).state; }

  config::HealthSettings settings{.interval = seconds(1),
                                  .rise = 2,
                                  .fall = 3,
                                  .breaker_faults = 4,
                                  .breaker_open = seconds(2),
                                  .breaker_cap = seconds(7),
                                  .ejection_cap = 0.5};
  ManualClock clock;
  std::optional<dispatch::Dispatcher> dispatcher;
  std::optional<Breakers> breakers;
};

TEST_F(BreakersTest, ProbesInARowBringAWorkerUpAndDown) {
  build(1);
  EXPECT_EQ(state(0), WorkerState::unroutable);
  probe(0, true);
  probe(0, false);
  probe(0, true);
  EXPECT_EQ(state(0), WorkerState::unroutable);
  probe(0, true);
  EXPECT_EQ(state(0), WorkerState::routable);
  probe(0, false, 2);
  probe(0, true);
  probe(0, false, 2);
  EXPECT_EQ(state(0), WorkerState::routable);
  probe(0, false);
  EXPECT_EQ(state(0), WorkerState::unroutable);
}

TEST_F(BreakersTest, AWorkerThatAnswersRequestsIsNotTakenOutByLostProbes) {
  build_alive(1);
  clock.advance(seconds(100));
  answer(0, Outcome::completed);
  probe(0, false, 10);
  EXPECT_EQ(state(0), WorkerState::routable);
  clock.advance(seconds(3));  // fall x interval after its last answer it is believed no more
  probe(0, false);
  EXPECT_EQ(state(0), WorkerState::unroutable);
}

TEST_F(BreakersTest, FaultsInARowOpenAndAnAnswerBetweenThemDoesNot) {
  build_alive(2);
  answer(0, Outcome::worker_fault, 3);
  answer(0, Outcome::completed);
  answer(0, Outcome::transport_fault, 3);
  EXPECT_EQ(state(0), WorkerState::routable);
  answer(0, Outcome::worker_fault);
  EXPECT_EQ(state(0), WorkerState::unroutable);
  EXPECT_EQ(state(1), WorkerState::routable);
  EXPECT_EQ(breakers->status(WorkerId{0}).ejections, 1U);
}

TEST_F(BreakersTest, FaultsOfClientsFullWorkersAndLeaversAreNeutral) {
  build_alive(2);
  answer(0, Outcome::worker_fault, 3);
  for (const Outcome neutral : {Outcome::client_fault, Outcome::back_pressure, Outcome::cancelled})
    answer(0, neutral, 50);
  EXPECT_EQ(state(0), WorkerState::routable);
  EXPECT_EQ(breakers->status(WorkerId{0}).faults, 3);  // nor do they forgive
  answer(0, Outcome::worker_fault);
  EXPECT_EQ(state(0), WorkerState::unroutable);
}

TEST_F(BreakersTest, ATrialTakesOneRequestAtATime) {
  build_alive(2);
  breakers->set_draining(WorkerId{1}, false);
  settings.ejection_cap = 1;
  build_alive(1);
  answer(0, Outcome::transport_fault, 4);
  pass(seconds(1));
  EXPECT_EQ(state(0), WorkerState::unroutable);
  pass(seconds(1));
  ASSERT_EQ(state(0), WorkerState::trial);
  struct Nobody final : dispatch::Waiter {
    void granted(dispatch::Granted granted) override { lease = std::move(granted.lease); }
    void refused(dispatch::Refused) override {}
    fleet::Lease lease;
  };
  dispatch::Submission submission;
  submission.model = model;
  const auto second_waiter = std::make_shared<Nobody>();
  auto first = dispatcher->submit(submission, [] { return std::make_shared<Nobody>(); });
  ASSERT_TRUE(std::holds_alternative<dispatch::Granted>(first));
  const auto second = dispatcher->submit(submission, [&] { return second_waiter; });
  ASSERT_TRUE(std::holds_alternative<dispatch::Queued>(second));
  std::get<dispatch::Granted>(first).lease.end(Outcome::completed);
  answer(0, Outcome::completed);
  EXPECT_EQ(state(0), WorkerState::routable);
  EXPECT_TRUE(second_waiter->lease.open());
  second_waiter->lease.end(Outcome::cancelled);
}

TEST_F(BreakersTest, EachFailedTrialDoublesTheTimeUpToItsCap) {
  build_alive(2);
  answer(0, Outcome::worker_fault, 4);
  for (const int open_for : {2, 4, 7, 7}) {
    pass(seconds(open_for) - Duration(1));
    EXPECT_EQ(state(0), WorkerState::unroutable) << open_for;
    pass(Duration(1));
    ASSERT_EQ(state(0), WorkerState::trial) << open_for;
    answer(0, Outcome::cancelled);  // a trial that tells nothing goes on
    ASSERT_EQ(state(0), WorkerState::trial) << open_for;
    answer(0, Outcome::transport_fault);
  }
  pass(seconds(7));
  answer(0, Outcome::completed);
  EXPECT_EQ(state(0), WorkerState::routable);
  answer(0, Outcome::worker_fault, 4);  // after a success it starts from the beginning
  pass(seconds(2));
  EXPECT_EQ(state(0), WorkerState::trial);
}

TEST_F(BreakersTest, BreakersNeverEjectMoreThanTheirShare) {
  build_alive(4);
  for (std::uint32_t i = 0; i < 4; ++i) answer(i, Outcome::worker_fault, 10);
  EXPECT_EQ(state(0), WorkerState::unroutable);
  EXPECT_EQ(state(1), WorkerState::unroutable);
  EXPECT_EQ(state(2), WorkerState::routable);
  EXPECT_EQ(state(3), WorkerState::routable);
}

/// Neither those that prefill for others nor the rest can stand in for the other part: the cap is of each.
TEST_F(BreakersTest, TheShareIsOfEachPartOfARequest) {
  using fleet::Role;
  for (const double cap : {0.2, 0.5, 0.75}) {
    for (const std::size_t prefills : {1U, 2U, 4U}) {
      settings.ejection_cap = cap;
      dispatcher.emplace(dispatch::DispatcherOptions{}, std::move(*routing::make_policy("round_robin")), clock, 1);
      breakers.emplace(settings, *dispatcher, clock);
      std::vector<Role> roles(prefills, Role::prefill);
      roles.insert(roles.end(), {Role::decode, Role::both, Role::decode, Role::both, Role::both, Role::decode});
      for (std::size_t i = 0; i < roles.size(); ++i) {
        const WorkerId id = dispatcher->add_worker({"w" + std::to_string(i), {model}, 8});
        breakers->add(id, {}, roles[i]);
        probe(id.value, true, settings.rise);
      }
      for (std::uint32_t i = 0; i < roles.size(); ++i) answer(i, Outcome::worker_fault, 10);
      std::size_t out_of_prefills = 0, out_of_others = 0;
      for (std::uint32_t i = 0; i < roles.size(); ++i) {
        if (state(i) == WorkerState::unroutable) ++(roles[i] == Role::prefill ? out_of_prefills : out_of_others);
      }
      EXPECT_EQ(out_of_prefills, static_cast<std::size_t>(cap * static_cast<double>(prefills)));
      EXPECT_EQ(out_of_others, static_cast<std::size_t>(cap * 6));
    }
  }
}

TEST_F(BreakersTest, AnOnlyWorkerIsNotEjectedUnderTheDefaultShare) {
  build_alive(1);
  answer(0, Outcome::worker_fault, 50);
  EXPECT_EQ(state(0), WorkerState::routable);
}

TEST_F(BreakersTest, NoFaultCountOpensABreakerThatIsOff) {
  settings.breaker_faults = 0;
  build_alive(3);
  answer(0, Outcome::worker_fault, 1000);
  EXPECT_EQ(state(0), WorkerState::routable);
}

TEST_F(BreakersTest, WhatTheOperatorOrderedStandsAboveHealth) {
  build_alive(2);
  breakers->set_draining(WorkerId{0}, false);
  EXPECT_EQ(state(0), WorkerState::draining);
  probe(0, false, 5);
  answer(0, Outcome::completed);
  EXPECT_EQ(state(0), WorkerState::draining);
  probe(0, true, 2);
  breakers->set_active(WorkerId{0});
  EXPECT_EQ(state(0), WorkerState::routable);
  breakers->set_draining(WorkerId{0}, true);
  EXPECT_EQ(state(0), WorkerState::removed);
}

TEST_F(BreakersTest, AnEjectedWorkerThatIsDeadGetsNoTrial) {
  build_alive(2);
  answer(0, Outcome::transport_fault, 4);
  probe(0, false, 3);
  pass(seconds(2));
  EXPECT_EQ(state(0), WorkerState::unroutable);
  probe(0, true, 2);
  EXPECT_EQ(state(0), WorkerState::trial);
}

class RankBreakersTest : public BreakersTest {
 protected:
  /// Engines of so many ranks each, alive; workers are numbered through.
  void build_engines(const std::vector<std::uint32_t>& sizes) {
    build(0);
    std::uint32_t next = 0;
    for (const std::uint32_t ranks : sizes) {
      const WorkerId first{next};
      for (std::uint32_t rank = 0; rank < ranks; ++rank, ++next) {
        const WorkerId id = dispatcher->add_worker({"w" + std::to_string(next), {model}, 8});
        breakers->add(id, rank == 0 ? std::nullopt : std::optional(first));
      }
      probe(first.value, true, settings.rise);
    }
  }
  [[nodiscard]] std::string states() const {
    std::string all;
    for (const auto& worker : dispatcher->workers()) all += dispatch::to_string(worker.state)[0];
    return all;  // r, u, t, d
  }
};

TEST_F(RankBreakersTest, OneProbeIsForAllRanksOfTheEngine) {
  build_engines({3, 2});
  EXPECT_EQ(states(), "rrrrr");
  probe(1, false, 3);
  EXPECT_EQ(states(), "uuurr");
  probe(2, true, 2);
  EXPECT_EQ(states(), "rrrrr");
}

TEST_F(RankBreakersTest, AnAnsweringRankSpeaksForTheEngine) {
  build_engines({3});
  answer(2, Outcome::completed);
  probe(0, false, 10);
  EXPECT_EQ(states(), "rrr");
}

TEST_F(RankBreakersTest, ARankJoinsWithWhatIsKnownOfItsEngine) {
  build_engines({2});
  const WorkerId id = dispatcher->add_worker({"late", {model}, 8});
  breakers->add(id, WorkerId{0});
  EXPECT_EQ(states(), "rrr");
  const WorkerId alone = dispatcher->add_worker({"alone", {model}, 8});
  breakers->add(alone);
  EXPECT_EQ(states(), "rrru");
}

TEST_F(RankBreakersTest, AFaultOfOneRankEjectsThatRankOnly) {
  build_engines({4});
  answer(1, Outcome::worker_fault, 4);
  EXPECT_EQ(states(), "rurr");
  answer(2, Outcome::completed);
  EXPECT_EQ(states(), "rurr") << "another rank's answer says nothing of it";
  pass(seconds(2));
  EXPECT_EQ(states(), "rtrr");
  answer(1, Outcome::completed);
  EXPECT_EQ(states(), "rrrr");
}

TEST_F(RankBreakersTest, FaultsOfTheTransportAreOfTheEngineWhicheverRankMeetsThem) {
  build_engines({3, 3});
  for (const std::uint32_t rank : {0U, 1U, 2U}) answer(rank, Outcome::transport_fault);
  EXPECT_EQ(states(), "rrrrrr");
  answer(1, Outcome::transport_fault);
  EXPECT_EQ(states(), "uuurrr");
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(breakers->status(WorkerId{rank}).ejections, 1U);
  pass(seconds(2));
  EXPECT_EQ(states(), "tttrrr");
  answer(2, Outcome::completed);
  EXPECT_EQ(states(), "rrrrrr") << "one answer, and the engine is there again";
}

TEST_F(RankBreakersTest, TheCapCountsEnginesHoweverManyRanksTheyHave) {
  build_engines({6, 1});  // a cap of half the workers would keep the dead engine, and everything would go there
  answer(0, Outcome::transport_fault, 4);
  EXPECT_EQ(states(), "uuuuuur");
  answer(6, Outcome::transport_fault, 9);
  EXPECT_EQ(states(), "uuuuuur") << "not all engines";
}

TEST_F(RankBreakersTest, ARankThatRefusesItselfIsOutAtOnceWhateverTheCap) {
  build_engines({4});
  for (std::uint32_t rank = 1; rank < 4; ++rank) breakers->refused(WorkerId{rank});
  EXPECT_EQ(states(), "ruuu");
  answer(1, Outcome::worker_fault, 9);  // as an attempt it is a fault like another
  EXPECT_EQ(states(), "ruuu");
  pass(seconds(2));
  EXPECT_EQ(states(), "rttt");
  breakers->refused(WorkerId{1});
  answer(1, Outcome::worker_fault);
  answer(2, Outcome::completed);
  EXPECT_EQ(states(), "rurt") << "there now, or still not";
}

TEST_F(RankBreakersTest, AFailedTrialIsOneForAllAndDoublesOnce) {
  build_engines({3, 3});
  answer(0, Outcome::transport_fault, 4);
  pass(seconds(2));
  answer(0, Outcome::transport_fault);
  answer(1, Outcome::transport_fault);  // its trial was under way
  EXPECT_EQ(states(), "uuurrr");
  pass(seconds(4) - Duration(1));
  EXPECT_EQ(states(), "uuurrr");
  pass(Duration(1));
  EXPECT_EQ(states(), "tttrrr");
}

TEST_F(RankBreakersTest, AnAnswerOfAnyRankEndsTheEnginesRowOfTransportFaults) {
  build_engines({2, 2});
  for (int i = 0; i < 10; ++i) {
    answer(0, Outcome::transport_fault, 3);
    answer(1, Outcome::completed);
  }
  EXPECT_EQ(states(), "rrrr");
  EXPECT_EQ(breakers->status(WorkerId{0}).faults, 0);
}

TEST_F(RankBreakersTest, TheCapTakesAnEngineWithAllItsRanksOrNotAtAll) {
  build_engines({4});
  answer(0, Outcome::transport_fault, 20);
  EXPECT_EQ(states(), "rrrr") << "half of a dead engine helps nobody";
  build_engines({4, 4});
  answer(0, Outcome::transport_fault, 20);
  EXPECT_EQ(states(), "uuuurrrr");
  answer(4, Outcome::transport_fault, 20);
  EXPECT_EQ(states(), "uuuurrrr");
}

TEST_F(RankBreakersTest, DrainingOneRankLeavesTheOthers) {
  build_engines({3});
  breakers->set_draining(WorkerId{1}, false);
  EXPECT_EQ(states(), "rdr");
  answer(0, Outcome::transport_fault, 4);
  EXPECT_EQ(states(), "rdr");
  breakers->set_active(WorkerId{1});
  EXPECT_EQ(states(), "rrr");
}

TEST_F(RankBreakersTest, AWorkerThatComesBackAloneIsRidOfWhatItsOldEngineWas) {
  build_engines({2});
  breakers->set_draining(WorkerId{0}, true);
  breakers->add(WorkerId{0});
  dispatcher->add_worker({"w0", {model}, 8});
  EXPECT_EQ(state(0), WorkerState::unroutable);
  probe(0, true, 2);
  probe(1, false, 3);
  EXPECT_EQ(state(0), WorkerState::routable);
  EXPECT_EQ(state(1), WorkerState::unroutable);
}

}  // namespace
}  // namespace evenkeel::gateway
