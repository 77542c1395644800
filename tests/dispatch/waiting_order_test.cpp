// Who of those that wait goes first: priority, fairness between clients, the cap on overtaking.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;
using fleet::Outcome;

struct Asked {
  std::uint64_t client = 0;
  std::int64_t priority = 0;
  SlipPtr slip;
};

/// A desk with one worker whose slots are taken, and a note of the order in which those that wait enter.
class Queue {
 public:
  explicit Queue(DispatcherOptions options, std::int64_t slots = 1) : desk(options) {
    worker_ = desk.worker("one", slots);
    for (std::int64_t i = 0; i < slots; ++i) running_.push_back(desk.submit(asking(999)));
  }
  ~Queue() {
    desk.dispatcher.close();
    for (const auto& slip : running_) slip->lease.end(Outcome::cancelled);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  std::size_t ask(std::uint64_t client, std::int64_t priority = 0, std::int64_t prompt = 100, Excluded excluded = {}) {
    const std::size_t index = asked.size();
    Submission what = asking(client, priority, prompt);
    what.excluded = excluded;
    asked.push_back({client, priority, nullptr});
    const std::size_t before = entered.size();
    asked.back().slip = desk.submit(what, [this, index](Slip&) { entered.push_back(index); });
    take(before);
    return index;
  }
  /// One running request ends.
  void release() {
    const SlipPtr first = running_.front();
    running_.erase(running_.begin());
    const std::size_t before = entered.size();
    first->lease.end(Outcome::client_fault);  // teaches no mean output, so that costs stay what they were
    take(before);
  }
  void resize(std::int64_t slots) {
    const std::size_t before = entered.size();
    desk.dispatcher.set_max_in_flight(worker_, slots);
    take(before);
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }

  Desk desk;
  std::vector<Asked> asked;          ///< in order of arrival
  std::vector<std::size_t> entered;  ///< indices into `asked`, in order of entering

 private:
  void take(std::size_t from) {
    for (std::size_t i = from; i < entered.size(); ++i) running_.push_back(asked[entered[i]].slip);
  }
  WorkerId worker_;
  std::vector<SlipPtr> running_;
};

DispatcherOptions uncapped() {
  DispatcherOptions options;
  options.overtake_cap = 0;
  return options;
}

TEST(WaitingOrder, IsByArrivalAmongTheRequestsOfOneClient) {
  Queue queue(uncapped());
  for (int i = 0; i < 20; ++i) queue.ask(1);
  for (int i = 0; i < 20; ++i) queue.release();
  std::vector<std::size_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(queue.entered, expected);
}

TEST(WaitingOrder, PutsLowerPrioritiesFirst) {
  Queue queue(uncapped());
  for (const std::int64_t priority : {5, 0, 3, -2, 0, 5, -2}) queue.ask(1, priority);
  for (int i = 0; i < 7; ++i) queue.release();
  EXPECT_EQ(queue.entered, (std::vector<std::size_t>{3, 6, 1, 4, 2, 0, 5}));
}

TEST(WaitingOrder, LetsALightClientThroughAHeavyOne) {
  Queue queue(uncapped());
  for (int i = 0; i < 200; ++i) queue.ask(1);
  std::size_t light = queue.ask(2);
  int served = 0;
  for (int i = 0; i < 100; ++i) {
    queue.release();
    if (queue.entered.back() != light) continue;
    ++served;
    light = queue.ask(2);  // one at a time, as soon as it can
  }
  EXPECT_GE(served, 49) << "half of what one of two clients is due";
  EXPECT_LE(served, 51);
}

/// Start-time fair queueing promises two backlogged clients work that differs by at most the largest request
/// of each (Goyal, Vin and Cheng 1996, theorem 1, weights 1).
TEST(WaitingOrder, BoundsTheLagBetweenBackloggedClients) {
  const DispatcherOptions options = uncapped();
  Random random(41);
  for (int round = 0; round < 5; ++round) {
    Queue queue(options);
    constexpr int clients = 4;
    const double prior_output = 256;
    std::vector<double> cost;
    std::vector<double> largest(clients);
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t client = i < 100 ? 0 : random.below(clients);
      const auto prompt = static_cast<std::int64_t>(random.below(client == 1 ? 20000 : 500));
      cost.push_back(prior_output + options.prompt_weight * static_cast<double>(prompt));
      largest[client] = std::max(largest[client], cost.back());
      queue.ask(client, 0, prompt);
    }
    std::vector<double> work(clients);
    std::vector<int> left(clients);
    for (const auto& one : queue.asked) ++left[one.client];
    while (*std::min_element(left.begin(), left.end()) > 1) {  // while all are backlogged
      queue.release();
      const std::size_t entered = queue.entered.back();
      work[queue.asked[entered].client] += cost[entered];
      --left[queue.asked[entered].client];
      for (int a = 0; a < clients; ++a) {
        for (int b = 0; b < a; ++b) ASSERT_LE(std::abs(work[a] - work[b]), largest[a] + largest[b] + 1e-6);
      }
    }
  }
}

TEST(WaitingOrder, DoesNotChargeAClientForWhatItTookBack) {
  Queue queue(uncapped());
  queue.ask(1);  // keeps the pool from emptying
  queue.ask(1);
  std::vector<std::size_t> taken_back;
  for (int i = 0; i < 50; ++i) taken_back.push_back(queue.ask(2));
  for (const std::size_t index : taken_back)
    ASSERT_TRUE(queue.desk.dispatcher.cancel(*queue.asked[index].slip->queued));
  for (int i = 0; i < 20; ++i) queue.ask(3);
  const std::size_t again = queue.ask(2);
  for (int i = 0; i < 5; ++i) queue.release();
  EXPECT_NE(std::find(queue.entered.begin(), queue.entered.end(), again), queue.entered.end())
      << "pays for fifty requests that never ran";
}

/// For each request: how many came later, were no more urgent, and entered before it.
std::vector<int> overtakings(const Queue& queue) {
  std::vector<int> out(queue.asked.size());
  for (std::size_t at = 0; at < queue.entered.size(); ++at) {
    const std::size_t entered = queue.entered[at];
    for (std::size_t earlier = 0; earlier < entered; ++earlier) {
      const auto place = std::find(queue.entered.begin(), queue.entered.end(), earlier);
      const bool still_waited = static_cast<std::size_t>(place - queue.entered.begin()) > at;
      if (still_waited && queue.asked[earlier].slip->queued &&
          queue.asked[earlier].priority <= queue.asked[entered].priority) {
        ++out[earlier];
      }
    }
  }
  return out;
}

TEST(OvertakingCap, LetsExactlySoManyPassAndNoMore) {
  DispatcherOptions options;
  options.overtake_cap = 3;
  Queue queue(options);
  queue.ask(1);
  const std::size_t second = queue.ask(1);  // charged behind the first: every new client goes before it
  std::uint64_t client = 10;
  for (int i = 0; i < 6; ++i) queue.ask(client++);
  for (int i = 0; i < 8; ++i) {
    queue.release();
    queue.ask(client++);
  }
  EXPECT_EQ(overtakings(queue)[second], 3);
  EXPECT_EQ(queue.entered[4], second) << "the first, three newcomers, then it";
}

TEST(OvertakingCap, HoldsWhenManySlotsComeFreeAtOnce) {
  DispatcherOptions options;
  options.overtake_cap = 3;
  Queue queue(options);
  queue.ask(1);
  const std::size_t second = queue.ask(1);
  for (std::uint64_t client = 10; client < 40; ++client) queue.ask(client);
  queue.resize(12);  // eleven places in one step
  ASSERT_EQ(queue.entered.size(), 11U);
  EXPECT_EQ(overtakings(queue)[second], 3);
  EXPECT_EQ(queue.entered[4], second);
}

TEST(OvertakingCap, IsNeverExceededUnderRandomLoad) {
  for (const int cap : {1, 2, 5, 17}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      DispatcherOptions options;
      options.overtake_cap = cap;
      Queue queue(options, 2);
      Random random(seed);
      std::int64_t slots = 2;
      for (int i = 0; i < 500; ++i) {
        const std::uint64_t client = random.below(2) == 0 ? 1 : 2 + random.below(30);
        queue.ask(client, static_cast<std::int64_t>(random.below(2)), static_cast<std::int64_t>(random.below(8000)));
        if (random.below(9) == 0) queue.resize(slots += static_cast<std::int64_t>(random.below(8)));
        if (queue.running() > 0 && random.below(3) > 0) queue.release();
      }
      while (queue.desk.dispatcher.pool().waiting > 0) queue.release();
      int most = 0;
      for (const int count : overtakings(queue)) most = std::max(most, count);
      EXPECT_LE(most, cap) << "seed " << seed;
      EXPECT_GT(most, 0) << "seed " << seed << ": nothing was tested";
    }
  }
}

TEST(OvertakingCap, DoesNotCountThoseThatAreMoreUrgent) {
  DispatcherOptions options;
  options.overtake_cap = 2;
  Queue queue(options);
  const std::size_t patient = queue.ask(1, 10);
  for (int i = 0; i < 5; ++i) queue.ask(2, 0);
  for (int i = 0; i < 5; ++i) queue.release();
  EXPECT_EQ(std::count(queue.entered.begin(), queue.entered.end(), patient), 0);
  queue.release();
  EXPECT_EQ(queue.entered.back(), patient);
}

TEST(OvertakingCap, LeavesNoSlotIdleForACappedRequestThatMayNotUseIt) {
  DispatcherOptions options;
  options.overtake_cap = 1;
  Desk desk(options);
  const WorkerId one = desk.worker("one", 1);
  const WorkerId two = desk.worker("two", 1);
  const auto at_one = desk.submit(asking());
  const auto at_two = desk.submit(asking());
  Submission retry = asking(1, 1);  // less urgent, so that others pass it
  retry.excluded.add(two);
  const auto barred = desk.submit(retry);
  std::vector<SlipPtr> others;
  for (int i = 0; i < 6; ++i) others.push_back(desk.submit(asking(7, 1)));
  auto& slip_one = at_one->lease.worker() == one ? *at_one : *at_two;
  auto& slip_two = at_one->lease.worker() == one ? *at_two : *at_one;
  slip_two.lease.end(Outcome::completed);
  for (int i = 0; i < 4; ++i) {  // worker two serves the others, whoever may not use it
    ASSERT_TRUE(others[static_cast<std::size_t>(i)]->placed()) << i;
    others[static_cast<std::size_t>(i)]->lease.end(Outcome::completed);
  }
  EXPECT_TRUE(barred->waits());
  slip_one.lease.end(Outcome::completed);
  EXPECT_TRUE(barred->placed()) << "first in line for the worker it may use";
  for (const auto& slip : others) slip->lease.end(Outcome::completed);
  barred->lease.end(Outcome::completed);
}

TEST(WaitingPool, KeepsNoAccountOfClientsThatAreLongGone) {
  // A pool that never empties, and a new client with every request: what is remembered must stay bounded. The
  // order must not suffer: the heavy client still gets only its share.
  WaitingPool pool(0);
  const auto wait = [&](std::uint64_t id, std::uint64_t client) {
    Waiting waiting;
    waiting.id = RequestId{id};
    waiting.submission = asking(client);
    pool.add(std::move(waiting), 256);
  };
  std::uint64_t id = 1;
  wait(id++, 1);
  for (std::uint64_t client = 2; client < 200000; ++client) {
    wait(id++, client);
    RequestId head{};
    pool.in_order([&](const Waiting& first) {
      head = first.id;
      return false;
    });
    (void)pool.enter(head, [](const Waiting&) { return true; });
  }
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_LE(pool.clients(), 20000U);
}

}  // namespace
}  // namespace evenkeel::dispatch
