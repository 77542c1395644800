// The dispatcher called by many threads at once: limits, accounts and answers hold.
#include <array>
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {
namespace {

constexpr ModelId model{1};
constexpr std::size_t workers = 3;

/// Counts what runs at each worker from the outside and remembers the most.
class Meter {
 public:
  void begin(WorkerId at) {
    const int now = ++running_[at.value];
    int most = most_[at.value];
    while (now > most && !most_[at.value].compare_exchange_weak(most, now)) {
    }
  }
  void end(WorkerId at) { --running_[at.value]; }
  [[nodiscard]] int most(std::size_t worker) const { return most_[worker]; }
  [[nodiscard]] int running(std::size_t worker) const { return running_[worker]; }

 private:
  std::array<std::atomic<int>, workers> running_{};
  std::array<std::atomic<int>, workers> most_{};
};

/// Where a thread's grants land; another thread may deliver.
class Inbox final : public Waiter {
 public:
  explicit Inbox(Meter& meter) : meter_(meter) {}
  void granted(Granted what) override {
    meter_.begin(what.lease.worker());
    const std::lock_guard lock(mutex_);
    lease_ = std::move(what.lease);
    ++told_;
  }
  void refused(Refused) override {
    const std::lock_guard lock(mutex_);
    ++told_;
  }
  [[nodiscard]] int told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  /// Ends what was granted, if anything was.
  bool finish(fleet::Outcome outcome) {
    fleet::Lease lease;
    {
      const std::lock_guard lock(mutex_);
      lease = std::move(lease_);
    }
    if (!lease.open()) return false;
    lease.generated(Tokens(2));
    meter_.end(lease.worker());
    lease.end(outcome);
    return true;
  }

 private:
  Meter& meter_;
  std::mutex mutex_;
  fleet::Lease lease_;
  int told_ = 0;
};

struct Desk {
  explicit Desk(std::string_view policy, std::int64_t slots)
      : dispatcher({}, std::move(*routing::make_policy(policy)), clock, 1) {
    for (std::size_t i = 0; i < workers; ++i) {
      const WorkerId id = dispatcher.add_worker({"w" + std::to_string(i), {model}, slots});
      dispatcher.set_state(id, WorkerState::routable);
    }
  }
  ManualClock clock;  // stands still: threads only read it
  Meter meter;
  Dispatcher dispatcher;
};

struct Tally {
  std::atomic<int> asked{0};
  std::atomic<int> told{0};
  std::atomic<int> cancelled{0};
};

void client(Desk& desk, Tally& tally, std::uint64_t seed, int requests) {
  Random random(seed);
  struct Open {
    std::shared_ptr<Inbox> inbox;
    std::optional<RequestId> queued;
  };
  std::vector<Open> open;
  const auto settle = [&](Open& one) {
    // What waits may be taken back; if that fails, the answer is there or on its way.
    if (one.queued && desk.dispatcher.cancel(*one.queued)) {
      ++tally.cancelled;
      return;
    }
    while (one.inbox->told() == 0) std::this_thread::yield();
    tally.told += one.inbox->told();
    one.inbox->finish(fleet::Outcome::completed);
  };
  for (int i = 0; i < requests; ++i) {
    Submission ask;
    ask.model = model;
    ask.prompt_tokens = Tokens(static_cast<std::int64_t>(random.below(500)));
    ask.client = ClientKey{seed};
    Open one{std::make_shared<Inbox>(desk.meter), {}};
    ++tally.asked;
    auto decision = desk.dispatcher.submit(ask, [&] { return one.inbox; });
    if (auto* granted = std::get_if<Granted>(&decision)) one.inbox->granted(std::move(*granted));
    if (auto* refused = std::get_if<Refused>(&decision)) one.inbox->refused(*refused);
    if (const auto* queued = std::get_if<Queued>(&decision)) one.queued = queued->id;
    open.push_back(std::move(one));
    if (open.size() > 1 + random.below(6)) {
      const std::size_t at = random.below(open.size());
      settle(open[at]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (Open& one : open) settle(one);
}

class Hammering : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Hammering, NeverPassesALimitAndAnswersEachRequestOnce) {
  constexpr int threads = 4;
  constexpr std::int64_t slots = 2;
  Desk desk(GetParam(), slots);
  Tally tally;
  std::atomic<bool> done{false};
  std::atomic<int> unsound{0};
  std::thread keeper([&] {  // timers, reports, readers and a worker that blinks
    Random random(99);
    while (!done) {
      desk.dispatcher.tick();
      const WorkerId id{static_cast<std::uint32_t>(random.below(workers))};
      EngineReport report;
      report.running = static_cast<double>(random.below(5));
      desk.dispatcher.report(id, report);
      desk.dispatcher.set_state(id, random.below(2) == 0 ? WorkerState::unroutable : WorkerState::routable);
      desk.dispatcher.set_state(id, WorkerState::routable);
      unsound += desk.dispatcher.sound() ? 0 : 1;
      for (const auto& status : desk.dispatcher.workers()) unsound += status.load.in_flight > slots ? 1 : 0;
      (void)desk.dispatcher.pool();
    }
  });
  std::vector<std::thread> crew;
  for (std::uint64_t t = 1; t <= threads; ++t) crew.emplace_back([&, t] { client(desk, tally, t, 4000); });
  for (std::thread& thread : crew) thread.join();
  done = true;
  keeper.join();

  EXPECT_EQ(unsound, 0);
  EXPECT_EQ(tally.asked, threads * 4000);
  EXPECT_EQ(tally.told + tally.cancelled, tally.asked);
  for (std::size_t i = 0; i < workers; ++i) {
    // An ending lease leaves our meter a moment before it leaves the books, so the meter never reads too
    // high.
    EXPECT_LE(desk.meter.most(i), slots);
    EXPECT_EQ(desk.meter.running(i), 0);
    EXPECT_EQ(desk.dispatcher.workers()[i].load.in_flight, 0);
    EXPECT_EQ(desk.dispatcher.workers()[i].load.kv_tokens(), Tokens(0));
  }
  EXPECT_EQ(desk.dispatcher.pool().waiting, 0U);
  EXPECT_TRUE(desk.dispatcher.sound());
}

INSTANTIATE_TEST_SUITE_P(Dispatcher, Hammering,
                         ::testing::Values("least_wait", "least_requests", "round_robin", "consistent_hash"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Herd, ReleasedByOneBarrierFillsEveryWorkerToItsLimitAndNoFurther) {
  constexpr int threads = 48;
  for (int round = 0; round < 10; ++round) {
    Desk desk("least_requests", 10);
    std::barrier gate(threads);
    std::vector<std::shared_ptr<Inbox>> inboxes;
    for (int i = 0; i < threads; ++i) inboxes.push_back(std::make_shared<Inbox>(desk.meter));
    std::vector<std::thread> herd;
    for (const auto& inbox : inboxes) {
      herd.emplace_back([&desk, &gate, inbox] {
        Submission ask;
        ask.model = model;
        gate.arrive_and_wait();
        auto decision = desk.dispatcher.submit(ask, [&] { return inbox; });
        if (auto* granted = std::get_if<Granted>(&decision)) inbox->granted(std::move(*granted));
      });
    }
    for (std::thread& thread : herd) thread.join();
    for (std::size_t i = 0; i < workers; ++i) EXPECT_EQ(desk.dispatcher.workers()[i].load.in_flight, 10);
    EXPECT_EQ(desk.dispatcher.pool().waiting, 18U);
    int served = 0;
    for (bool any = true; any;) {
      any = false;
      for (const auto& inbox : inboxes) {
        if (!inbox->finish(fleet::Outcome::completed)) continue;
        any = true;
        ++served;
      }
    }
    EXPECT_EQ(served, threads);
    for (std::size_t i = 0; i < workers; ++i) EXPECT_LE(desk.meter.most(i), 10);
  }
}

}  // namespace
}  // namespace evenkeel::dispatch
