// Boxes of other routers among the workers: who may go there, what this box keeps from itself, requests that come back.
#include <array>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

/// A worker of this router and a peer's box, each with so many slots.
struct Pair : Desk {
  explicit Pair(std::int64_t slots_here, std::int64_t slots_there, DispatcherOptions options = {},
                std::string_view policy = "late")
      : Desk(options, policy) {
    if (slots_here > 0) here = worker("here", slots_here);
    WorkerSpec spec{"there", {model_a}, 0};
    spec.peer = true;
    there = dispatcher.add_worker(spec);
    dispatcher.set_state(there, WorkerState::routable);
    dispatcher.set_share(there, {slots_there, slots_there, 0});
  }
  WorkerId here;
  WorkerId there;
};

Submission forwarded() {
  Submission what = asking();
  what.from_peer = true;
  return what;
}

Submission forwarded_at_once() {
  Submission what = forwarded();
  what.at_once = true;
  return what;
}

TEST(FromPeer, IsServedHereOnlyHoweverFreeAPeerIs) {
  Pair pair(2, 8);
  const std::vector<SlipPtr> slips = pair.submit(3, forwarded());
  EXPECT_TRUE(slips[2]->waits());
  EXPECT_EQ(pair.in_flight(pair.here), 2);
  EXPECT_EQ(pair.in_flight(pair.there), 0);
}

TEST(FromPeer, ThatWaitsTakesTheOwnSlotAndNotThePeers) {
  Pair pair(1, 1);
  const auto one = pair.submit(forwarded());
  const auto two = pair.submit(forwarded());
  EXPECT_TRUE(two->waits());
  const auto mine = pair.submit(asking());
  EXPECT_EQ(mine->lease.worker(), pair.there) << "what stands before it cannot go there";
  one->lease.end(fleet::Outcome::completed);
  ASSERT_TRUE(two->placed());
  EXPECT_EQ(two->lease.worker(), pair.here);
}

TEST(FromPeer, WithNoWorkerHereWaitsForNone) {
  Pair pair(0, 4);
  const auto slip = pair.submit(forwarded_at_once());
  EXPECT_EQ(slip->why(), fleet::Refusal::no_worker);
  EXPECT_EQ(pair.waiters_made, 0);
}

TEST(AtOnce, WithoutAnOpenSlotIsRefusedAndMakesNoWaiter) {
  Pair pair(2, 8);
  const auto one = pair.submit(forwarded_at_once());
  const auto two = pair.submit(forwarded_at_once());
  EXPECT_TRUE(one->placed() && two->placed());
  EXPECT_EQ(pair.submit(forwarded_at_once())->why(), fleet::Refusal::no_slot);
  EXPECT_EQ(pair.waiters_made, 0);
  one->lease.end(fleet::Outcome::completed);
  EXPECT_TRUE(pair.submit(forwarded_at_once())->placed());
}

TEST(AtOnce, TakesASlotThatThePolicyHoldsOpenForOthers) {
  struct HoldsOwn final : routing::Policy {
    [[nodiscard]] std::string_view name() const override { return "holds_own"; }
    void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random&,
              std::vector<fleet::Placement>& placements) override {
      for (std::uint32_t i = 0; i < waiting.size(); ++i) {
        if (fleet.workers.size() == 1) placements.push_back({i, waiting[i].candidates[0], "only", 0, 1});
      }
    }
  };
  Desk desk({}, std::make_unique<HoldsOwn>());
  desk.worker("here", 2);
  WorkerSpec spec{"there", {model_a}, 0};
  spec.peer = true;
  const WorkerId there = desk.dispatcher.add_worker(spec);
  desk.dispatcher.set_state(there, WorkerState::routable);
  desk.dispatcher.set_share(there, {4, 4, 0});
  const auto held = desk.submit(asking());
  ASSERT_TRUE(held->waits());
  EXPECT_TRUE(desk.submit(forwarded_at_once())->placed());
}

TEST(Shedding, KeepsRequestsFromOwnWorkersAndGivesThemToAPeer) {
  Pair pair(4, 1);
  pair.dispatcher.set_shedding(true);
  const auto one = pair.submit(asking());
  ASSERT_TRUE(one->placed());
  EXPECT_EQ(one->lease.worker(), pair.there);
  const auto two = pair.submit(asking());
  EXPECT_TRUE(two->waits()) << "a peer that is full will be free again";
  one->lease.end(fleet::Outcome::completed);
  ASSERT_TRUE(two->placed());
  EXPECT_EQ(two->lease.worker(), pair.there);
}

TEST(Shedding, WithoutAPeerRefusesWithATimeToComeBack) {
  Desk desk;
  desk.worker("here", 4);
  desk.dispatcher.set_shedding(true);
  const auto slip = desk.submit(asking());
  EXPECT_EQ(slip->why(), fleet::Refusal::pressure);
  EXPECT_GT(slip->refusal->retry_after, Duration(0));
  EXPECT_TRUE(desk.dispatcher.routable(model_a)) << "it is up, if busy";
  desk.dispatcher.set_shedding(false);
  EXPECT_TRUE(desk.submit(asking())->placed());
}

TEST(Shedding, RefusesAPeersRequestAtOnce) {
  Pair pair(4, 4);
  pair.dispatcher.set_shedding(true);
  EXPECT_EQ(pair.submit(forwarded_at_once())->why(), fleet::Refusal::pressure);
  EXPECT_EQ(pair.submit(forwarded())->why(), fleet::Refusal::pressure);
}

TEST(Shedding, DoesNotConcernWhatIsNeverShed) {
  Pair pair(4, 4);
  pair.dispatcher.set_shedding(true);
  for (const bool from_peer : {false, true}) {
    Submission what = asking();
    what.never_shed = true;
    what.from_peer = from_peer;
    what.excluded.add(pair.there);
    const auto slip = pair.submit(what);
    ASSERT_TRUE(slip->placed());
    EXPECT_EQ(slip->lease.worker(), pair.here);
  }
}

TEST(Shedding, ThatBeginsWhileRequestsWaitRefusesThemOnlyAfterTheirPatience) {
  Desk desk;
  desk.worker("here", 1);
  const auto running = desk.submit(asking());
  const auto waits = desk.submit(asking());
  ASSERT_TRUE(waits->waits());
  desk.dispatcher.set_shedding(true);
  running->lease.end(fleet::Outcome::completed);
  EXPECT_TRUE(waits->waits()) << "nothing new enters";
  desk.pass(seconds(4));
  EXPECT_TRUE(waits->waits());
  desk.pass(seconds(2));
  EXPECT_EQ(waits->why(), fleet::Refusal::pressure);
}

TEST(Shedding, WhileAPeerIsFullHoldsARequestToItsDeadline) {
  DispatcherOptions options;
  options.pool_timeout = seconds(20);
  Pair pair(2, 1, options);
  pair.dispatcher.set_shedding(true);
  const auto there = pair.submit(asking());
  const auto held = pair.submit(asking());
  pair.pass(seconds(19));
  EXPECT_TRUE(held->waits());
  pair.pass(seconds(2));
  EXPECT_EQ(held->why(), fleet::Refusal::deadline);
}

TEST(Shedding, ThatEndsLetsInWhoWaits) {
  Desk desk;
  desk.worker("here", 1);
  const auto running = desk.submit(asking());
  const auto waits = desk.submit(asking());
  desk.dispatcher.set_shedding(true);
  running->lease.end(fleet::Outcome::completed);
  desk.pass(seconds(2));
  desk.dispatcher.set_shedding(false);
  EXPECT_TRUE(waits->placed());
}

TEST(Shedding, IsNotWhatKeepsARequestFromWorkersThatFailedIt) {
  Pair pair(4, 4);
  pair.dispatcher.set_shedding(true);
  Submission what = asking();
  what.excluded.add(pair.here);
  what.excluded.add(pair.there);
  EXPECT_EQ(pair.submit(what)->why(), fleet::Refusal::all_tried);
}

TEST(Returned, GoesOnFromWhereItStood) {
  Pair pair(0, 1);
  const auto first = pair.submit(asking());
  const auto second = pair.submit(asking());
  const auto third = pair.submit(asking());
  pair.pass(seconds(1));
  first->lease.end(fleet::Outcome::completed);
  ASSERT_TRUE(second->placed());
  Submission again = asking();
  again.returned = Returned{second->lease.request(), Time{}};
  pair.dispatcher.set_share(pair.there, {1, 0, 1});  // full, as it said
  second->lease.end(fleet::Outcome::back_pressure);
  const auto back = pair.submit(again);
  ASSERT_TRUE(back->waits());
  EXPECT_EQ(back->queued, again.returned->id);
  pair.pass(seconds(1));
  pair.dispatcher.set_share(pair.there, {1, 1, 0});
  ASSERT_TRUE(back->placed());
  EXPECT_TRUE(third->waits());
  EXPECT_EQ(back->receipt.waited, seconds(2)) << "from when it first came";
}

TEST(Returned, OfOneClientGoesBeforeOthersWhoseTurnItWouldBe) {
  Pair pair(0, 2);
  std::vector<SlipPtr> flood = pair.submit(2, asking(1));
  const auto held = pair.submit(asking(2));
  ASSERT_TRUE(held->waits());
  Submission again = asking(1);
  again.returned = Returned{flood[1]->lease.request(), Time{}};
  pair.dispatcher.set_share(pair.there, {2, 1, 1});
  flood[1]->lease.end(fleet::Outcome::back_pressure);
  const auto back = pair.submit(again);
  flood[0]->lease.end(fleet::Outcome::completed);
  EXPECT_TRUE(back->placed());
  EXPECT_TRUE(held->waits());
}

TEST(Returned, FindsItsPlaceInAFullPoolAndItsOldDeadline) {
  DispatcherOptions options;
  options.pool_requests = 1;
  options.pool_timeout = seconds(10);
  Pair pair(0, 1, options);
  const auto first = pair.submit(asking());
  const auto other = pair.submit(asking());
  ASSERT_TRUE(other->waits());
  EXPECT_EQ(pair.submit(asking())->why(), fleet::Refusal::pool_full);
  pair.dispatcher.set_share(pair.there, {1, 0, 1});
  pair.pass(seconds(6));
  Submission again = asking();
  again.returned = Returned{first->lease.request(), Time{}};
  first->lease.end(fleet::Outcome::back_pressure);
  const auto back = pair.submit(again);
  ASSERT_TRUE(back->waits());
  pair.pass(seconds(5));
  EXPECT_EQ(back->why(), fleet::Refusal::deadline) << "ten seconds after it first came";
}

TEST(Returned, WithAnIdThatWaitsOrWasNeverGivenIsANewRequest) {
  Pair pair(0, 1);
  const auto running = pair.submit(asking());
  const auto waits = pair.submit(asking());
  for (const RequestId wrong : {*waits->queued, RequestId{1000}}) {
    Submission what = asking();
    what.returned = Returned{wrong, Time{}};
    const auto slip = pair.submit(what);
    ASSERT_TRUE(slip->waits());
    EXPECT_NE(*slip->queued, wrong);
  }
  running->lease.end(fleet::Outcome::completed);
  EXPECT_TRUE(waits->placed()) << "it was not overtaken";
}

TEST(Route, IsSaidOnlyWhereThereArePeers) {
  Desk alone;
  alone.worker("here", 4);
  EXPECT_EQ(alone.submit(asking())->receipt.route, "");
  EXPECT_EQ(alone.submit(forwarded())->receipt.route, "sole-ready");

  Pair pair(1, 1);
  pair.worker("other", 4, {model_b});
  Submission of_b = asking();
  of_b.model = model_b;
  EXPECT_EQ(pair.submit(of_b)->receipt.route, "") << "no peer serves this model";
}

TEST(Route, NamesTheCase) {
  Pair pair(2, 2, {}, "least_requests");
  pair.dispatcher.set_state(pair.there, WorkerState::unroutable);
  const auto first = pair.submit(asking());
  EXPECT_EQ(first->receipt.route, "local-idle");
  const auto second = pair.submit(asking());
  EXPECT_EQ(second->receipt.route, "sole-ready");
  pair.dispatcher.set_state(pair.there, WorkerState::routable);
  const auto third = pair.submit(asking());
  EXPECT_EQ(third->receipt.route, "peer-less-loaded");
  pair.dispatcher.set_shedding(true);
  EXPECT_EQ(pair.submit(asking())->receipt.route, "local-busy-forwarded");
  pair.dispatcher.set_shedding(false);
  pair.dispatcher.set_state(pair.here, WorkerState::unroutable);
  EXPECT_EQ(pair.submit(asking())->receipt.route, "sole-ready");
}

TEST(Auto, WaitsForASlotWherePeersAreAndTakesTheEmptierWorkerElsewhere) {
  Pair pair(2, 2, {}, "auto");
  const auto slip = pair.submit(asking());
  EXPECT_EQ(slip->receipt.policy, "late_tail");
  Desk alone({}, "auto");
  alone.worker("here", 2);
  EXPECT_EQ(alone.submit(asking())->receipt.policy, "least_wait");
}

TEST(LateTail, DoesNotHoldWhatCameFromAPeerForAFasterPeer) {
  Pair pair(2, 2, {}, "late_tail");
  pair.dispatcher.set_rate(pair.here, std::array{fleet::RatePoint{1, 5}, fleet::RatePoint{2, 10}});
  pair.dispatcher.set_rate(pair.there, std::array{fleet::RatePoint{1, 50}, fleet::RatePoint{2, 100}});
  const std::vector<SlipPtr> there = pair.submit(2, asking());
  ASSERT_EQ(pair.in_flight(pair.there), 2);
  const auto mine = pair.submit(asking());
  ASSERT_TRUE(mine->waits()) << "the slow slot would end last";
  const auto theirs = pair.submit(forwarded());
  ASSERT_TRUE(theirs->placed());
  EXPECT_EQ(theirs->lease.worker(), pair.here);
  EXPECT_TRUE(mine->waits());
}

TEST(LateTail, CountsNoOwnSlotsWhileThisBoxSheds) {
  Pair pair(2, 1, {}, "late_tail");
  pair.dispatcher.set_rate(pair.here, std::array{fleet::RatePoint{1, 50}, fleet::RatePoint{2, 100}});
  pair.dispatcher.set_rate(pair.there, std::array{fleet::RatePoint{1, 1}});
  const std::vector<SlipPtr> here = pair.submit(2, asking());
  pair.dispatcher.set_shedding(true);
  const auto slip = pair.submit(asking());
  ASSERT_TRUE(slip->placed()) << "the fast slots will not be its, however soon they are free";
  EXPECT_EQ(slip->lease.worker(), pair.there);
}

}  // namespace
}  // namespace evenkeel::dispatch
