#pragma once

// A dispatcher under virtual time, slips that keep what became of each submission, and policies that
// misbehave.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What became of one submission.
class Slip final : public Waiter {
 public:
  void granted(Granted what) override {
    lease = std::move(what.lease);
    receipt = what.receipt;
    ++told;
    if (on_grant) on_grant(*this);
  }
  void refused(Refused what) override {
    refusal = what;
    ++told;
  }

  [[nodiscard]] bool placed() const { return lease.open(); }
  [[nodiscard]] bool waits() const { return queued.has_value() && told == 0; }
  [[nodiscard]] std::optional<fleet::Refusal> why() const {
    return refusal ? std::optional(refusal->why) : std::nullopt;
  }

  fleet::Lease lease;
  fleet::Receipt receipt;
  std::optional<Refused> refusal;
  std::optional<RequestId> queued;
  int told = 0;  ///< by the decision or as a waiter
  std::function<void(Slip&)> on_grant;
};
using SlipPtr = std::shared_ptr<Slip>;

inline constexpr ModelId model_a{1};
inline constexpr ModelId model_b{2};

inline Submission asking(std::uint64_t client = 1, std::int64_t priority = 0, std::int64_t prompt = 100) {
  Submission what;
  what.model = model_a;
  what.prompt_tokens = Tokens(prompt);
  what.bytes = Bytes(1000);
  what.priority = priority;
  what.client = ClientKey{client};
  return what;
}

class Desk {
 public:
  explicit Desk(DispatcherOptions options = {}, std::string_view policy = "least_requests", std::uint64_t seed = 1)
      : Desk(options, std::move(*routing::make_policy(policy)), seed) {}
  Desk(DispatcherOptions options, std::unique_ptr<routing::Policy> policy, std::uint64_t seed = 1)
      : dispatcher(options, std::move(policy), clock, seed) {}

  WorkerId worker(std::string name, std::int64_t slots, std::vector<ModelId> models = {model_a}) {
    const WorkerId id = dispatcher.add_worker({std::move(name), std::move(models), slots});
    dispatcher.set_state(id, WorkerState::routable);
    return id;
  }
  SlipPtr submit(const Submission& what, std::function<void(Slip&)> on_grant = {}) {
    auto slip = std::make_shared<Slip>();
    slip->on_grant = std::move(on_grant);
    auto decision = dispatcher.submit(what, [&] {
      ++waiters_made;
      return slip;
    });
    if (auto* granted = std::get_if<Granted>(&decision)) slip->granted(std::move(*granted));
    if (auto* refused = std::get_if<Refused>(&decision)) slip->refused(*refused);
    if (auto* queued = std::get_if<Queued>(&decision)) slip->queued = queued->id;
    return slip;
  }
  std::vector<SlipPtr> submit(int count, const Submission& what) {
    std::vector<SlipPtr> slips;
    for (int i = 0; i < count; ++i) slips.push_back(submit(what));
    return slips;
  }
  /// Lets time pass in steps of 50 ms, as the router's timer does.
  void pass(Duration time) {
    const Time end = clock.now() + time;
    while (clock.now() < end) {
      clock.set(std::min(end, clock.now() + milliseconds(50)));
      dispatcher.tick();
    }
  }
  [[nodiscard]] std::int64_t in_flight(WorkerId id) const { return dispatcher.workers().at(id.value).load.in_flight; }

  ManualClock clock;
  Dispatcher dispatcher;
  int waiters_made = 0;
};

/// Places nothing while `holding`, else each request at its first candidate.
class Holding final : public routing::Policy {
 public:
  explicit Holding(const bool& holding) : holding_(holding) {}
  [[nodiscard]] std::string_view name() const override { return "holding"; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView&, Time, Random&,
            std::vector<fleet::Placement>& placements) override {
    if (holding_) return;
    for (std::uint32_t i = 0; i < waiting.size(); ++i)
      placements.push_back({i, waiting[i].candidates[0], "let_go", 0, 1});
  }

 private:
  const bool& holding_;
};

/// Waits until two can enter together at one worker.
class InPairs final : public routing::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "in_pairs"; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random&,
            std::vector<fleet::Placement>& placements) override {
    for (std::uint32_t i = 0; i + 1 < waiting.size(); i += 2) {
      for (const std::uint32_t worker : waiting[i].candidates) {
        if (fleet.workers[worker].free_slots() < 2) continue;
        placements.push_back({i, worker, "pair", 0, 1});
        placements.push_back({i + 1, worker, "pair", 0, 1});
        return;
      }
    }
  }
};

/// Wishes for anything: indices out of range, workers that are full or barred, the same request twice.
class Wild final : public routing::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "wild"; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random& random,
            std::vector<fleet::Placement>& placements) override {
    for (auto count = random.below(2 * waiting.size() + 6); count > 0; --count) {
      auto request = static_cast<std::uint32_t>(random.below(waiting.size() + 2));
      auto worker = static_cast<std::uint32_t>(random.below(fleet.workers.size() + 2));
      if (random.below(8) == 0) request = ~0U;
      if (random.below(8) == 0) worker = ~0U;
      placements.push_back({request, worker, "wild", 0, 1});
      if (random.below(3) == 0) placements.push_back(placements.back());
    }
  }
};

}  // namespace evenkeel::dispatch::testing
