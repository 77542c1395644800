#include "routing/late.hpp"

#include <algorithm>
#include <limits>

namespace evenkeel::routing {

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// Output tokens that requests in service still owe, by the mean.
double left_at(const fleet::WorkerView& worker) {
  return std::max(0.0, worker.requests() * worker.mean_output - worker.load.generated_tokens.as_double());
}

/// What a worker does at once, and what it still has to.
struct Work {
  double left = 0;
  double rate = 0;
  [[nodiscard]] double time(double more) const { return rate > 0 ? (left + more) / rate : 0; }
};

/// Seconds until a worker has finished what it has and `more` requests of mean length that start now. Those in service
/// are taken to have the same left each; once they are done the others run on by themselves, each faster but together
/// slower.
double end_with(const fleet::WorkerView& worker, double more) {
  const double running = worker.requests();
  const double mean = worker.mean_output;
  const double left_each = running > 0 ? std::min(mean, left_at(worker) / running) : 0;
  const double together = left_each * (running + more) / worker.rate->at(running + more);
  return more > 0 ? together + more * (mean - left_each) / worker.rate->at(more) : together;
}

/// How many of `waiting` should start on `open` slots of `worker`, beside `faster` ones.
std::int64_t starts(const fleet::WorkerView& worker, std::int64_t open, std::int64_t waiting, const Work& faster) {
  std::int64_t best = 0;
  double best_end = unknown;
  for (std::int64_t x = 0; x <= std::min(open, waiting); ++x) {
    const double here = x == 0 ? 0 : end_with(worker, static_cast<double>(x));
    const double end = std::max(here, faster.time(static_cast<double>(waiting - x) * worker.mean_output));
    if (end > best_end * (1 + 1e-9)) continue;
    best = x;
    best_end = end;
  }
  return best;
}

}  // namespace

PerRequestPolicy::Choice Late::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                      const fleet::FleetView& fleet, Random& random) {
  return cheapest(candidates, fleet, random, "late", [](const fleet::WorkerView& worker) {
    const double running = worker.requests() + 1;
    const double rate = worker.rate->at(running);
    // Seconds a token; in a fleet that has not learned anything yet the emptiest is the fastest.
    return rate > 0 ? running / rate : 1e-9 * running;
  });
}

void LateTail::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random& random,
                    std::vector<fleet::Placement>& placements) {
  seats_.clear();
  for (std::uint32_t index = 0; index < fleet.workers.size(); ++index) {
    const fleet::WorkerView& worker = fleet.workers[index];
    const auto slots = static_cast<double>(std::max<std::int64_t>(1, worker.max_in_flight));
    const double rate = worker.rate->at(slots);
    seats_.push_back({index, rate > 0 ? rate / slots : unknown, random.unit()});
  }
  std::sort(seats_.begin(), seats_.end(), [](const Seat& a, const Seat& b) {
    return a.slot_speed != b.slot_speed ? a.slot_speed > b.slot_speed : a.tie < b.tie;
  });
  placed_.assign(waiting.size(), false);
  auto left = static_cast<std::int64_t>(waiting.size());
  Work faster;
  bool barred = false;  // a faster worker has a slot open that nobody left may use: it will not help them
  for (const Seat& seat : seats_) {
    const fleet::WorkerView& worker = fleet.workers[seat.worker];
    const std::int64_t open = std::max<std::int64_t>(0, worker.free_slots());
    const bool no_tail = seat.slot_speed == unknown || faster.rate == 0 || barred;
    const std::int64_t wanted = no_tail ? std::min(open, left) : starts(worker, open, left, faster);
    std::int64_t started = 0;
    for (std::uint32_t i = 0; i < waiting.size() && started < wanted; ++i) {
      const auto& allowed = waiting[i].candidates;
      if (placed_[i] || !std::binary_search(allowed.begin(), allowed.end(), seat.worker)) continue;
      placements.push_back({i, seat.worker, "late_tail", 0, static_cast<std::uint32_t>(allowed.size())});
      placed_[i] = true;
      ++started;
    }
    left -= started;
    barred = barred || started < wanted;
    if (seat.slot_speed == unknown) continue;
    faster.left += left_at(worker) + static_cast<double>(started) * worker.mean_output;
    faster.rate += worker.rate->at(static_cast<double>(worker.max_in_flight));
  }
}

}  // namespace evenkeel::routing
