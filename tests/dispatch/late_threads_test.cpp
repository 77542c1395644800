// G7 of the catalogue of cases between peers: many threads released at once on an idle pair never send a worker more
// than its slots and what may be sent ahead, as choosing and counting are one step.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

TEST(PeersG7, SixtyFourThreadsAtOnceSendNoWorkerMoreThanItsSlotsAndWhatIsAhead) {
  constexpr int threads = 64;
  constexpr int rounds = 50;
  constexpr std::int64_t ahead = 2;
  Desk desk({}, "late_tail");
  const WorkerId here = desk.worker("here", 2);
  WorkerSpec spec{"far", {model_a}, 0};
  spec.peer = true;
  const WorkerId far = desk.dispatcher.add_worker(spec);
  desk.dispatcher.set_state(far, WorkerState::routable);
  desk.dispatcher.set_share(far, {2, 2 + ahead, 0});
  std::atomic<std::int64_t> most_here = 0;
  std::atomic<std::int64_t> most_far = 0;
  std::atomic<int> served = 0;
  std::barrier gate(threads);
  const auto raise = [](std::atomic<std::int64_t>& most, std::int64_t seen) {
    std::int64_t before = most.load();
    while (seen > before && !most.compare_exchange_weak(before, seen)) {
    }
  };
  std::atomic<int> strays = 0;
  const auto work = [&](int number) {
    Submission what = asking(static_cast<std::uint64_t>(number));
    what.from_peer = number % 4 == 0;  // the other router's, which may not go back there
    what.at_once = number % 8 == 0;
    for (int round = 0; round < rounds; ++round) {
      gate.arrive_and_wait();
      auto decision = desk.dispatcher.submit(what, [] { return std::make_shared<Slip>(); });
      const auto workers = desk.dispatcher.workers();
      raise(most_here, workers[here.value].load.in_flight);
      raise(most_far, workers[far.value].load.in_flight);
      gate.arrive_and_wait();  // nobody ends before all have asked
      if (auto* granted = std::get_if<Granted>(&decision)) {
        ++served;
        strays += what.from_peer && granted->lease.worker() == far ? 1 : 0;
        granted->lease.end(fleet::Outcome::completed);
      } else if (const auto* queued = std::get_if<Queued>(&decision)) {
        (void)desk.dispatcher.cancel(queued->id);
      }
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(strays, 0);
  EXPECT_EQ(most_here, 2);
  EXPECT_EQ(most_far, 2 + ahead);
  EXPECT_GE(served, rounds * (2 + 2 + ahead));
  EXPECT_TRUE(desk.dispatcher.sound());
}

}  // namespace
}  // namespace evenkeel::dispatch
