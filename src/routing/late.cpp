#include "routing/late.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace evenkeel::routing {

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// The candidates whose slots are open, or all if none is.
std::span<const std::uint32_t> open_first(std::span<const std::uint32_t> candidates, const fleet::FleetView& fleet,
                                          std::vector<std::uint32_t>& open) {
  open.clear();
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(open),
               [&](std::uint32_t index) { return fleet.workers[index].open_slots() > 0; });
  return open.empty() ? candidates : std::span<const std::uint32_t>(open);
}

/// Output tokens that ours in service have made: those that were seen, and of those that show none what the worker's
/// rate makes of their age. Without it whole answers would look as if they had just begun until they are there.
double made_at(const fleet::WorkerView& worker) {
  const auto silent = static_cast<double>(worker.load.in_flight - worker.load.decoding);
  if (silent <= 0 || worker.silent_s <= 0) return worker.load.generated_tokens.as_double();
  const double each = worker.rate->at(worker.requests()) / worker.requests();
  return worker.load.generated_tokens.as_double() + std::min(silent * worker.mean_output, worker.silent_s * each);
}

/// Output tokens that ours in service still owe, by the mean.
double left_at(const fleet::WorkerView& worker) {
  const auto ours = static_cast<double>(worker.load.in_flight);
  return std::max(0.0, ours * worker.mean_output - made_at(worker));
}

/// Slots that others have not.
std::int64_t slots_of_ours(const fleet::WorkerView& worker) {
  const auto others = static_cast<std::int64_t>(std::ceil(worker.foreign_requests - 1e-9));
  return std::max<std::int64_t>(0, worker.served_at_once() - others);
}

/// Seconds until a worker has finished what it has of ours and `more` requests of mean length that start now. Those in
/// service are taken to have the same left each; once they are done the others run on by themselves, each faster but
/// together slower.
double end_with(const fleet::WorkerView& worker, double more) {
  const auto ours = static_cast<double>(worker.load.in_flight);
  const double mean = worker.mean_output;
  const double left_each = ours > 0 ? std::min(mean, left_at(worker) / ours) : 0;
  const double all = worker.requests() + more;
  const double then = worker.foreign_requests + more;
  const double together = left_each > 0 ? left_each * all / worker.rate->at(all) : 0;
  return more > 0 ? together + (mean - left_each) * then / worker.rate->at(then) : together;
}

}  // namespace

PerRequestPolicy::Choice Late::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                      const fleet::FleetView& fleet, Random& random) {
  return cheapest(open_first(candidates, fleet, open_), fleet, random, "late", [](const fleet::WorkerView& worker) {
    const double running = worker.requests() + 1;
    const double rate = worker.rate->at(running);
    // Seconds a token; in a fleet that has not learned anything yet the emptiest is the fastest.
    return rate > 0 ? running / rate : 1e-9 * running;
  });
}

PerRequestPolicy::Choice LateSlotsOnly::choose(const fleet::WaitingView&, std::span<const std::uint32_t> candidates,
                                               const fleet::FleetView& fleet, Random& random) {
  return cheapest(open_first(candidates, fleet, open_), fleet, random, "slots_only",
                  [](const fleet::WorkerView& worker) {
                    return worker.requests() / static_cast<double>(std::max<std::int64_t>(1, worker.served_at_once()));
                  });
}

double LateTail::time_of(const Work& faster, std::int64_t more) const {
  const double mean = faster_.front()->mean_output;
  std::int64_t rest = more % faster.slots;
  const double full = (faster.left + static_cast<double>(more - rest) * mean) / faster.rate;
  double longest = 0;
  for (const fleet::WorkerView* worker : faster_) {
    if (rest == 0) break;
    const std::int64_t here = std::min(rest, slots_of_ours(*worker));
    if (here == 0) continue;
    const double running = static_cast<double>(here) + worker->foreign_requests;
    longest = std::max(longest, mean * running / worker->rate->at(running));
    rest -= here;
  }
  return full + longest;
}

/// How many of `waiting` should start on `open` places of `worker`, beside `faster` ones, after those that already did.
std::int64_t LateTail::starts(const fleet::WorkerView& worker, std::int64_t started, std::int64_t open,
                              std::int64_t waiting, const Work& faster) const {
  std::int64_t best = 0;
  double best_end = unknown;
  for (std::int64_t x = 0; x <= std::min(open, waiting); ++x) {
    const double here = end_with(worker, static_cast<double>(started + x));
    const double end = std::max(here, time_of(faster, waiting - x));
    if (end > best_end * (1 + 1e-9)) continue;
    best = x;
    best_end = end;
  }
  return best;
}

void LateTail::seat(const fleet::FleetView& fleet, Random& random) {
  seats_.clear();
  for (std::uint32_t index = 0; index < fleet.workers.size(); ++index) {
    const fleet::WorkerView& worker = fleet.workers[index];
    const auto slots = static_cast<double>(std::max<std::int64_t>(1, worker.served_at_once()));
    const double rate = worker.rate->at(slots);
    seats_.push_back({index, rate > 0 ? rate / slots : unknown, random.unit(), 0});
  }
  std::sort(seats_.begin(), seats_.end(), [](const Seat& a, const Seat& b) {
    return a.slot_speed != b.slot_speed ? a.slot_speed > b.slot_speed : a.tie < b.tie;
  });
}

LateTail::Left LateTail::left_for(std::span<const fleet::WaitingView> waiting, bool peer, fleet::Reach faster) const {
  Left left;
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    if (placed_[i] || !waiting[i].reach.covers(peer)) continue;
    ++(waiting[i].reach.meets(faster) ? left.elsewhere_too : left.here_only);
  }
  return left;
}

/// Gives the worker the first `most` that it may serve, and no more than `spared` of those that a faster one could.
std::int64_t LateTail::place(std::span<const fleet::WaitingView> waiting, std::uint32_t worker, bool peer,
                             fleet::Reach faster, std::int64_t most, std::int64_t spared,
                             std::vector<fleet::Placement>& placements) {
  std::int64_t started = 0;
  for (std::uint32_t i = 0; i < waiting.size() && started < most; ++i) {
    const fleet::WaitingView& request = waiting[i];
    const auto& allowed = request.candidates;
    if (placed_[i] || !request.reach.covers(peer)) continue;
    if (!std::binary_search(allowed.begin(), allowed.end(), worker)) continue;
    if (request.reach.meets(faster) && --spared < 0) continue;
    placements.push_back({i, worker, "late_tail", 0, static_cast<std::uint32_t>(allowed.size())});
    placed_[i] = true;
    ++started;
  }
  return started;
}

void LateTail::fill(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, bool ahead,
                    std::vector<fleet::Placement>& placements) {
  Work faster;
  faster_.clear();
  fleet::Reach faster_kinds{false, false};
  bool barred = false;  // a faster worker has a slot open that nobody left may use: it will not help them
  for (Seat& seat : seats_) {
    const fleet::WorkerView& worker = fleet.workers[seat.worker];
    const std::int64_t beyond = worker.slots > 0 ? std::max<std::int64_t>(0, worker.free_slots() - seat.started) : 0;
    const std::int64_t open = ahead ? beyond : worker.open_slots();
    if (open > 0) {
      const Left left = left_for(waiting, worker.peer, faster_kinds);
      const bool no_tail = seat.slot_speed == unknown || faster.rate == 0 || barred;
      const std::int64_t spared =
          no_tail ? left.elsewhere_too : starts(worker, seat.started, open, left.elsewhere_too, faster);
      const std::int64_t wanted = std::min(open, left.here_only + spared);
      const std::int64_t started = place(waiting, seat.worker, worker.peer, faster_kinds, wanted, spared, placements);
      seat.started += started;
      barred = barred || started < wanted;
    }
    if (seat.slot_speed == unknown) continue;
    const std::int64_t ours = slots_of_ours(worker);
    if (ours == 0) continue;
    faster_.push_back(&worker);
    (worker.peer ? faster_kinds.peers : faster_kinds.own) = true;
    faster.slots += ours;
    faster.left += left_at(worker) + static_cast<double>(seat.started) * worker.mean_output;
    faster.rate += static_cast<double>(ours) * seat.slot_speed;
  }
}

void LateTail::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time, Random& random,
                    std::vector<fleet::Placement>& placements) {
  seat(fleet, random);
  placed_.assign(waiting.size(), false);
  fill(waiting, fleet, false, placements);
  const bool some_take_ahead = std::any_of(fleet.workers.begin(), fleet.workers.end(), [](const fleet::WorkerView& of) {
    return of.slots > 0 && of.free_slots() > of.open_slots();
  });
  if (some_take_ahead) fill(waiting, fleet, true, placements);
}

}  // namespace evenkeel::routing
