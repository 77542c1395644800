#include "affinity/event_sequence.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::affinity {
namespace {

using namespace std::chrono_literals;

/// Notes what was taken and what was lost, in order.
struct Notes final : EventSequence::Sink {
  void take(std::string_view payload) override { all.emplace_back(payload); }
  void lost(KvLoss why) override { all.emplace_back(why == KvLoss::restart ? "RESTART" : "GAP"); }
  std::vector<std::string> all;
};
using Said = std::vector<std::string>;

struct Wire {
  explicit Wire(bool replays, EventSequence::Limits limits = {}) : sequence(replays, limits) {
    sequence.connected(now, notes);
    if (replays) answer({});  // nothing was published before
  }
  void publish(std::uint64_t number, const std::string& life = "a") {
    sequence.published(number, life + std::to_string(number), now, notes);
  }
  /// The replay that is wanted is answered with these, from the number that was asked for.
  void answer(const std::map<std::uint64_t, std::string>& kept) {
    asked.clear();
    while (const auto from = sequence.take_replay_request()) {
      asked.push_back(*from);
      for (const auto& [number, payload] : kept) {
        if (number >= *from) sequence.replayed(number, payload, now, notes);
      }
      sequence.replay_ended(now, notes);
    }
  }
  Time now{};
  Notes notes;
  EventSequence sequence;
  std::vector<std::uint64_t> asked;
};

TEST(EventSequence, TakesBatchesInTheirOrder) {
  Wire wire(true);
  EXPECT_EQ(wire.asked, std::vector<std::uint64_t>{0});
  EXPECT_FALSE(wire.sequence.in_step()) << "nothing has come yet";
  for (std::uint64_t i = 0; i < 3; ++i) wire.publish(i);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "a2"}));
  EXPECT_TRUE(wire.sequence.in_step());
  EXPECT_TRUE(wire.sequence.whole());
  EXPECT_EQ(wire.sequence.take_replay_request(), std::nullopt);
}

TEST(EventSequence, AGapIsFilledByReplay) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(1);
  wire.publish(4);
  EXPECT_FALSE(wire.sequence.in_step());
  wire.publish(5);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1"})) << "what is behind a gap waits";
  wire.answer({{0, "a0"}, {1, "a1"}, {2, "a2"}, {3, "a3"}, {4, "a4"}, {5, "a5"}});
  EXPECT_EQ(wire.asked, std::vector<std::uint64_t>{1}) << "from the last one taken, to see that it is the same";
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "a2", "a3", "a4", "a5"}));
  EXPECT_TRUE(wire.sequence.in_step());
  EXPECT_TRUE(wire.sequence.whole());
  EXPECT_EQ(wire.sequence.gaps(), 0U);
}

TEST(EventSequence, WhatComesDuringAReplayFollowsIt) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(2);
  (void)wire.sequence.take_replay_request();
  wire.sequence.replayed(0, "a0", wire.now, wire.notes);
  wire.sequence.replayed(1, "a1", wire.now, wire.notes);
  wire.publish(3);
  wire.sequence.replayed(2, "a2", wire.now, wire.notes);
  wire.sequence.replay_ended(wire.now, wire.notes);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "a2", "a3"}));
}

TEST(EventSequence, AGapThatReplayCannotFillVoidsAllBeforeIt) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(9);
  wire.answer({{7, "a7"}, {8, "a8"}, {9, "a9"}});  // it keeps three
  EXPECT_EQ(wire.notes.all, (Said{"a0", "GAP", "a7", "a8", "a9"}));
  EXPECT_TRUE(wire.sequence.in_step());
  EXPECT_FALSE(wire.sequence.whole());
  EXPECT_EQ(wire.sequence.gaps(), 1U);
}

TEST(EventSequence, WithoutReplayAGapVoidsAllBeforeIt) {
  Wire wire(false);
  wire.publish(0);
  wire.publish(2);
  wire.publish(3);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "GAP", "a2", "a3"}));
  EXPECT_TRUE(wire.sequence.in_step());
  EXPECT_FALSE(wire.sequence.whole());
}

TEST(EventSequence, AReplayThatNobodyAnswersIsGivenUp) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(2);
  wire.now += 1s;
  wire.sequence.tick(wire.now, wire.notes);
  EXPECT_TRUE(wire.sequence.replaying());
  wire.now += 1s;
  wire.sequence.tick(wire.now, wire.notes);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "GAP", "a2"}));
  EXPECT_TRUE(wire.sequence.in_step());
}

TEST(EventSequence, ALowerNumberIsARestart) {
  for (const bool replays : {false, true}) {
    Wire wire(replays);
    wire.publish(0);
    wire.publish(1);
    wire.publish(0, "b");
    wire.publish(1, "b");
    EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "RESTART", "b0", "b1"}));
    EXPECT_TRUE(wire.sequence.whole());
    EXPECT_EQ(wire.sequence.restarts(), 1U);
  }
}

TEST(EventSequence, ARestartWhoseFirstBatchesWereMissedIsReplayedFromItsStart) {
  Wire wire(true);
  for (std::uint64_t i = 0; i < 5; ++i) wire.publish(i);
  wire.notes.all.clear();
  wire.publish(2, "b");
  wire.answer({{0, "b0"}, {1, "b1"}, {2, "b2"}});
  EXPECT_EQ(wire.asked, std::vector<std::uint64_t>{0});
  EXPECT_EQ(wire.notes.all, (Said{"RESTART", "b0", "b1", "b2"}));
  EXPECT_TRUE(wire.sequence.whole());
}

/// The numbers of the new life have grown past those of the old one before anything of it is seen.
TEST(EventSequence, AnotherLifeIsKnownByItsBatchesWhateverItsNumbers) {
  const std::map<std::uint64_t, std::string> kept = {{0, "b0"}, {1, "b1"}, {2, "b2"}, {3, "b3"}};
  for (const std::uint64_t first_seen : {2, 3}) {
    Wire wire(true);
    wire.publish(0);
    wire.publish(1);
    wire.sequence.connection_lost();
    EXPECT_FALSE(wire.sequence.in_step());
    wire.publish(first_seen, "b");
    wire.answer(kept);
    EXPECT_EQ(wire.asked, (std::vector<std::uint64_t>{1, 0})) << first_seen;
    EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "RESTART", "b0", "b1", "b2", "b3"})) << first_seen;
    EXPECT_TRUE(wire.sequence.whole());
  }
}

TEST(EventSequence, AConnectionThatComesBackIsTrustedOnceTheLastBatchIsStillTheSame) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(1);
  wire.sequence.connection_lost();
  wire.sequence.connected(wire.now, wire.notes);
  EXPECT_FALSE(wire.sequence.in_step());
  wire.answer({{0, "a0"}, {1, "a1"}, {2, "a2"}});
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "a2"}));
  EXPECT_TRUE(wire.sequence.in_step());
}

TEST(EventSequence, AConnectionThatComesBackToAnEmptyWorkerIsARestart) {
  Wire wire(true);
  wire.publish(0);
  wire.publish(1);
  wire.sequence.connection_lost();
  wire.sequence.connected(wire.now, wire.notes);
  wire.answer({});
  EXPECT_EQ(wire.notes.all, (Said{"a0", "a1", "RESTART"}));
  EXPECT_FALSE(wire.sequence.in_step());
  wire.publish(0, "b");
  EXPECT_EQ(wire.notes.all.back(), "b0");
  EXPECT_TRUE(wire.sequence.whole());
}

TEST(EventSequence, WithoutReplayABrokenConnectionVoidsWhatWasKnown) {
  Wire wire(false);
  wire.publish(0);
  wire.sequence.connection_lost();
  wire.sequence.connected(wire.now, wire.notes);
  wire.publish(1);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "GAP", "a1"}));
}

TEST(EventSequence, WhoeverJoinsLateKnowsAPart) {
  Wire blind(false);
  blind.publish(7);
  EXPECT_EQ(blind.notes.all, Said{"a7"});
  EXPECT_TRUE(blind.sequence.in_step());
  EXPECT_FALSE(blind.sequence.whole());

  Wire told(true);
  told.publish(7);
  told.answer({{5, "a5"}, {6, "a6"}, {7, "a7"}});
  EXPECT_EQ(told.asked, std::vector<std::uint64_t>{0});
  EXPECT_EQ(told.notes.all, (Said{"a5", "a6", "a7"}));
  EXPECT_FALSE(told.sequence.whole());

  Wire whole(true);
  whole.publish(1);
  whole.answer({{0, "a0"}, {1, "a1"}});
  EXPECT_TRUE(whole.sequence.whole());
}

TEST(EventSequence, WhatWaitsForAReplayIsBounded) {
  Wire wire(true, {.pending_batches = 3, .pending_bytes = 1000, .replay_silence = 2s});
  wire.publish(0);
  for (std::uint64_t i = 2; i < 5; ++i) wire.publish(i);
  EXPECT_EQ(wire.notes.all, Said{"a0"});
  wire.publish(5);
  EXPECT_EQ(wire.notes.all, (Said{"a0", "GAP", "a5"}));
  EXPECT_TRUE(wire.sequence.in_step());

  Wire bytes(true, {.pending_batches = 100, .pending_bytes = 8, .replay_silence = 2s});
  bytes.publish(0);
  bytes.sequence.published(2, "12345", bytes.now, bytes.notes);
  bytes.sequence.published(3, "6789", bytes.now, bytes.notes);
  EXPECT_EQ(bytes.notes.all, (Said{"a0", "GAP", "6789"}));
}

TEST(EventSequence, AnAnswerThatWasNotAskedForIsIgnored) {
  Wire wire(true);
  wire.publish(0);
  wire.sequence.replayed(1, "a1", wire.now, wire.notes);
  wire.sequence.replay_ended(wire.now, wire.notes);
  EXPECT_EQ(wire.notes.all, Said{"a0"});
}

}  // namespace
}  // namespace evenkeel::affinity
