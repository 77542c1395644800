// What one router knows of another: load of others by the peer's own news and by the interval rule, lost probes,
// requests sent ahead. R10 and R12 of the catalogue, and the rules that its cases G rest on.
#include "peers/peer.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "peers/origins.hpp"

namespace evenkeel::peers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Fingerprint same() {
  Fingerprint of;
  of.served_id = "m";
  of.max_model_len = 4096;
  of.runtime = "vllm";
  of.quantization = "fp8";
  return of;
}
Status well(double running, std::optional<News> news = {}) {
  Status status;
  status.ready = true;
  status.fingerprint = same();
  status.capacity = "2";
  status.running = running;
  status.news = news;
  return status;
}
Time at(double s) { return Time(from_seconds(s)); }
void probe(Peer& peer, double sent, double received, const Status& status) {
  peer.probe_sent(at(sent));
  peer.probe_answered(at(received), status);
}

TEST(Peer, IsNotUsedBeforeItWasSeen) {
  Peer peer(same());
  EXPECT_FALSE(peer.share(at(0)).usable);
  EXPECT_EQ(peer.share(at(0)).why_not, "not probed yet");
  EXPECT_TRUE(peer.probe_due(at(0), false));
}

TEST(Peer, LendsTheSlotsThatOthersHaveNot) {
  Peer peer(same());
  probe(peer, 0, 0, well(0));
  EXPECT_EQ(peer.share(at(0)).max_in_flight, 2);
  probe(peer, 5, 5, well(1));
  const PeerShare share = peer.share(at(5));
  EXPECT_EQ(share.foreign, 1);
  EXPECT_EQ(share.slots, 2);
  EXPECT_EQ(share.max_in_flight, 1);
  probe(peer, 10, 10, well(7));
  EXPECT_EQ(peer.share(at(10)).max_in_flight, 0);
}

TEST(Peer, IsNotUsedWhileItServesSomethingElseOrIsNotReady) {
  Peer peer(same());
  Status other = well(0);
  other.fingerprint.quantization = "int4";
  probe(peer, 0, 0, other);
  EXPECT_FALSE(peer.share(at(0)).usable);
  EXPECT_EQ(peer.share(at(0)).why_not, "quantization differs: fp8 here, int4 there");
  Status dead = well(0);
  dead.ready = false;
  probe(peer, 5, 5, dead);
  EXPECT_EQ(peer.share(at(5)).why_not, "its engine is not ready");
  probe(peer, 10, 10, well(0));
  EXPECT_TRUE(peer.share(at(10)).usable);
}

TEST(Peer, WithoutACapacityLendsOneSlotAndIsNoSinkForWhatOthersCannotTake) {
  Peer peer(same());
  for (const char* said : {"0", "-1", "NaN", "text"}) {
    Status status = well(0);
    status.capacity = said;
    probe(peer, 0, 0, status);
    EXPECT_EQ(peer.share(at(0)).max_in_flight, 1) << said;
    EXPECT_NE(peer.capacity_note(), "");
  }
  Status silent = well(0);
  silent.capacity.reset();
  probe(peer, 5, 5, silent);
  EXPECT_EQ(peer.share(at(5)).max_in_flight, 1);
  EXPECT_EQ(peer.capacity_note(), "");
}

TEST(Peer, ModelSwitchIsSeenWithTheNextProbeAndItsOldCapacityStaysAway) {
  Peer peer(same());
  Status status = well(0);
  status.measured_at = 100;
  probe(peer, 0, 0, status);
  Status switched = status;
  switched.fingerprint.served_id = "n";
  probe(peer, 5, 5, switched);
  EXPECT_FALSE(peer.share(at(5)).usable);
  probe(peer, 10, 10, status);  // back, with the stamp of before
  EXPECT_TRUE(peer.share(at(10)).usable);
  EXPECT_EQ(peer.share(at(10)).slots, 1) << "as one that is not calibrated";
  status.measured_at = 200;
  probe(peer, 15, 15, status);
  EXPECT_EQ(peer.share(at(15)).slots, 2);
}

/// Dispatches of random times, and probes of random length with a gauge that lags: load of others is never overcounted,
/// and as the rule's own words have it.
TEST(Peer, LoadOfOthersByGaugesFollowsTheIntervalRule) {
  Random random(3);
  Peer peer(same());
  struct Span {
    double from, to;
  };
  std::vector<Span> ours;
  std::vector<double> open;
  double now = 0;
  for (int i = 0; i < 4000; ++i) {
    now += random.exponential(0.1);
    if (random.below(2) == 0) {
      peer.dispatched(at(now));
      open.push_back(now);
    } else if (!open.empty()) {
      const auto which = random.below(open.size());
      peer.ended(at(open[which]), at(now));
      ours.push_back({open[which], now});
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (i % 7 != 0) continue;
    const double sent = now;
    const double received = now += 0.5 * random.unit();
    const auto others = static_cast<double>(random.below(4));
    const double reported = others + static_cast<double>(random.below(5));
    probe(peer, sent, received, well(reported));
    auto mine = static_cast<double>(open.size());
    mine += static_cast<double>(
        std::count_if(ours.begin(), ours.end(), [&](const Span& span) { return span.to >= sent - 0.3 - 1e-9; }));
    EXPECT_EQ(peer.share(at(now)).foreign, std::max(0.0, reported - mine)) << i;
  }
}

TEST(Peer, NewsOfItsOwnNeedNoTimesAndALateOneIsDropped) {
  Peer peer(same());
  Origins there(2, 1);
  there.began(0);
  const News early = there.news(0, 2);  // ours and one of others
  there.ended(0);
  there.began(1);
  const News later = there.news(0, 3);
  probe(peer, 0, 0, well(99, later));
  EXPECT_EQ(peer.share(at(0)).foreign, 3) << "gauges are not looked at";
  peer.heard(at(1), early);
  EXPECT_EQ(peer.share(at(1)).foreign, 3);
  peer.heard(at(1), there.news(0, 1));
  EXPECT_EQ(peer.share(at(1)).foreign, 1);
  EXPECT_EQ(early.yours, 1);
  EXPECT_EQ(later.yours, 0);
}

TEST(Peer, NewsOfARestartedPeerCountFromItsNewEpochOn) {
  Peer peer(same());
  probe(peer, 0, 0, well(0, News{1, 500, 2, 0}));
  peer.heard(at(1), News{2, 1, 1, 0});
  EXPECT_EQ(peer.share(at(1)).foreign, 1);
  peer.heard(at(1), News{1, 501, 2, 0});
  EXPECT_EQ(peer.share(at(1)).foreign, 1) << "sent before it was started anew";
}

TEST(Peer, NewsThatCannotBeAreNotRead) {
  Peer peer(same());
  probe(peer, 0, 0, well(0, News{1, 1, 1, 0}));
  for (const News& wrong : {News{1, 2, -1, 0}, News{1, 3, 1, 2}, News{1, 4, 1, -1}}) {
    peer.heard(at(1), wrong);
    EXPECT_EQ(peer.share(at(1)).foreign, 1);
  }
  Status odd = well(-3);
  probe(peer, 5, 5, odd);
  EXPECT_EQ(peer.share(at(5)).foreign, 1);
}

TEST(Peer, LoadOfOthersThatKeepsARequestWaitingIsAskedForAgainWhenItIsNotFresh) {
  Peer peer(same());
  probe(peer, 0, 0.02, well(2));
  EXPECT_FALSE(peer.probe_due(at(0.2), true)) << "fresh";
  EXPECT_TRUE(peer.probe_due(at(0.3), true));
  EXPECT_FALSE(peer.probe_due(at(0.3), false)) << "nobody waits";
  peer.probe_sent(at(0.3));
  EXPECT_FALSE(peer.probe_due(at(9), true)) << "one at a time";
  peer.probe_answered(at(0.4), well(0));
  EXPECT_FALSE(peer.probe_due(at(1), true)) << "not full";
  EXPECT_TRUE(peer.probe_due(at(5.4), false));
}

TEST(Peer, LoadOfOthersThatNobodyRenewsIsForgotten) {
  Peer peer(same());
  probe(peer, 0, 0, well(2));
  EXPECT_EQ(peer.share(at(12)).foreign, 2);
  EXPECT_EQ(peer.share(at(14)).foreign, 0);
}

TEST(PeersR10, OneLostProbeRemovesNobodyAndTwoDoUnlessItAnswersMeanwhile) {
  Peer peer(same());
  probe(peer, 0, 0, well(0));
  peer.probe_sent(at(5));
  peer.probe_lost();
  EXPECT_TRUE(peer.share(at(8)).usable);
  peer.dispatched(at(8));
  peer.took(seconds(2), seconds(2));  // it answers what is forwarded
  peer.ended(at(8), at(10));
  peer.probe_sent(at(10));
  peer.probe_lost();
  EXPECT_TRUE(peer.share(at(13)).usable);
  peer.probe_sent(at(15));
  peer.probe_lost();
  EXPECT_FALSE(peer.share(at(18)).usable);
  EXPECT_EQ(peer.share(at(18)).why_not, "does not answer");
  EXPECT_TRUE(peer.probe_due(at(20), false)) << "and is still asked";
  probe(peer, 20, 20, well(0));
  EXPECT_TRUE(peer.share(at(20)).usable);
}

TEST(PeersR12, ThePeersAreAskedEachByItself) {
  Peer hung(same());
  Peer quick(same());
  probe(hung, 0, 0, well(0));
  probe(quick, 0, 0, well(0));
  hung.probe_sent(at(5));
  for (int k = 1; k < 4; ++k) {
    ASSERT_TRUE(quick.probe_due(at(5 * k), false));
    probe(quick, 5 * k, 5 * k + 0.01, well(k % 2));
    EXPECT_EQ(quick.share(at(5 * k + 0.01)).foreign, k % 2);
  }
}

TEST(Peer, SendsAheadOnlyWhileTheWayIsLongAndASlotIsAboutToBeFree) {
  Peer near(same());
  Peer far(same());
  for (Peer* peer : {&near, &far}) probe(*peer, 0, 0, well(0));
  near.took(milliseconds(2100), seconds(2));  // 50 ms one way: under 5 percent of 2 s
  far.took(milliseconds(2400), seconds(2));   // 200 ms
  EXPECT_EQ(far.forward_delay(), milliseconds(200));
  for (Peer* peer : {&near, &far}) {
    peer->dispatched(at(10));
    peer->dispatched(at(11));
  }
  EXPECT_EQ(far.share(at(11.7)).max_in_flight, 2) << "the first is expected to leave its slot at 12.2";
  EXPECT_EQ(far.share(at(11.9)).max_in_flight, 3);
  EXPECT_EQ(far.share(at(13)).max_in_flight, 4) << "one for each slot";
  EXPECT_EQ(near.share(at(13)).max_in_flight, 2);
  probe(far, 13, 13, well(4));  // two of others are there as well
  EXPECT_EQ(far.share(at(13)).max_in_flight, 0) << "not behind those of others";
}

TEST(Peer, ThatSendsARequestBackIsFullUntilItSaysOtherwise) {
  Peer peer(same());
  probe(peer, 0, 0, well(0));
  peer.dispatched(at(1));
  peer.sent_back(at(1.1));
  peer.ended(at(1), at(1.1));
  EXPECT_EQ(peer.share(at(1.1)).max_in_flight, 0);
  EXPECT_TRUE(peer.probe_due(at(1.4), true));
  probe(peer, 1.4, 1.4, well(0));
  EXPECT_EQ(peer.share(at(1.4)).max_in_flight, 2);
}

TEST(PeersR7, APeerThatSaysItHasSlotsAndSendsAllBackHasAsManyAsItServes) {
  Peer peer(same());
  Status liar = well(0);
  liar.capacity = "64";
  liar.news = News{1, 1, 0, 0};
  probe(peer, 0, 0, liar);
  ASSERT_EQ(peer.share(at(0)).max_in_flight, 64);
  const auto comes_back = [&](std::uint64_t number, std::int64_t active) {
    peer.heard(at(1), {1, number, active, active});
    peer.sent_back(at(1));
  };
  comes_back(2, 1);
  comes_back(3, 2);
  EXPECT_EQ(peer.share(at(1)).slots, 64) << "a slot may have been taken while they were on their way";
  comes_back(4, 2);
  EXPECT_EQ(peer.share(at(1)).slots, 2);
  EXPECT_EQ(peer.share(at(5.9)).slots, 2);
  EXPECT_EQ(peer.share(at(6.1)).slots, 64) << "it is tried again";
}

TEST(PeersR7, ThreeThatComeBackWhileOthersAreServedAreNoLie) {
  Peer peer(same());
  Status status = well(0);
  status.capacity = "64";
  status.news = News{1, 1, 0, 0};
  probe(peer, 0, 0, status);
  for (std::uint64_t i = 0; i < 5; ++i) {
    peer.heard(at(1), {1, 2 + i, 63, 63});
    peer.sent_back(at(1));
    peer.took(std::chrono::seconds(1), std::chrono::seconds(1));
  }
  EXPECT_EQ(peer.share(at(1)).slots, 64);
}

TEST(Peer, ThatTakesNothingOnIsLeftAloneUntilAProbeSaysOtherwise) {
  Peer peer(same());
  probe(peer, 0, 0, well(0));
  peer.declined(at(1));
  EXPECT_FALSE(peer.share(at(1)).usable);
  EXPECT_TRUE(peer.probe_due(at(1), false));
  probe(peer, 1, 1.1, well(0));
  EXPECT_TRUE(peer.share(at(1.1)).usable);
}

}  // namespace
}  // namespace evenkeel::peers
