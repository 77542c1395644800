#include "routing/io0.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace evenkeel::routing {

namespace {
constexpr double operations = 2e7;
constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();
}  // namespace

void Io0::begin(const fleet::FleetView& fleet, Time) {
  loads_.clear();
  for (const fleet::WorkerView& worker : fleet.workers) {
    loads_.push_back((worker.load.kv_tokens() + worker.foreign_tokens).value());
  }
  total_ = 0;
  peak_ = loads_.empty() ? 0 : loads_.front();
  for (const std::int64_t load : loads_) {
    total_ += load;
    peak_ = std::max(peak_, load);
  }
  spent_ = 0;
}

void Io0::charge(std::uint32_t worker, std::int64_t tokens) {
  loads_[worker] += tokens;
  total_ += tokens;
  peak_ = std::max(peak_, loads_[worker]);
}

double Io0::imbalance(std::int64_t peak, std::int64_t entering) const {
  return static_cast<double>(peak) * static_cast<double>(loads_.size()) - static_cast<double>(total_ + entering);
}

JointPolicy::Solution Io0::solve(std::vector<Pick>& picks) {
  const std::size_t count = window().size();
  const std::size_t enter = std::min(count, static_cast<std::size_t>(slots().total()));
  if (enter == 1 || spent_ > operations) return solve_single(picks);
  gather_parts(enter);
  spent_ += std::pow(3.0, static_cast<double>(count)) * static_cast<double>(parts_.size());
  const std::size_t sets = std::size_t{1} << count;
  tokens_.assign(sets, 0);
  members_.assign(sets, 0);
  for (std::size_t set = 1; set < sets; ++set) {
    tokens_[set] = tokens_[set & (set - 1)] + size(static_cast<std::uint32_t>(std::countr_zero(set)));
    members_[set] = static_cast<std::uint8_t>(members_[set & (set - 1)] + 1);
  }
  least_.assign(sets, unreachable);
  least_[0] = peak_;
  taken_.resize(parts_.size() * sets);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    add_worker(parts_[p], taken_.data() + p * sets, static_cast<int>(enter));
  }
  std::uint32_t left = best_set();
  const double cost = imbalance(least_[left], tokens_[left]);
  for (std::size_t p = parts_.size(); p-- > 0;) {
    const std::uint32_t taken = taken_[p * sets + left];
    for (std::uint32_t rest = taken; rest != 0; rest &= rest - 1) {
      picks.push_back({static_cast<std::uint32_t>(std::countr_zero(rest)), parts_[p].worker});
    }
    left ^= taken;
  }
  return {"exact", cost};
}

JointPolicy::Solution Io0::solve_single(std::vector<Pick>& picks) {
  double best = std::numeric_limits<double>::infinity();
  Pick pick;
  for (std::uint32_t i = 0; i < window().size(); ++i) {
    for (const std::uint32_t worker : slots().workers()) {
      if (!may_enter(i, worker)) continue;
      const double cost = imbalance(std::max(peak_, loads_[worker] + size(i)), size(i));
      if (cost >= best) continue;
      best = cost;
      pick = {i, worker};
    }
  }
  picks.push_back(pick);
  return {slots().total() == 1 || window().size() == 1 ? "exact" : "one_by_one", best};
}

/// The `enter` lightest open workers that each request may enter: if an optimum uses another one, one of these is idle
/// in it, is no heavier, and can take over a request.
void Io0::gather_parts(std::size_t enter) {
  by_load_.assign(slots().workers().begin(), slots().workers().end());
  std::erase_if(by_load_, [&](std::uint32_t worker) { return slots().free(worker) == 0; });
  std::stable_sort(by_load_.begin(), by_load_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return loads_[a] < loads_[b]; });
  parts_.clear();
  for (const std::uint32_t worker : by_load_) parts_.push_back({worker, 0});
  for (std::uint32_t i = 0; i < window().size(); ++i) {
    std::size_t wanted = enter;
    for (Part& part : parts_) {
      if (!may_enter(i, part.worker)) continue;
      part.allowed |= 1U << i;
      if (--wanted == 0) break;
    }
  }
  std::erase_if(parts_, [](const Part& part) { return part.allowed == 0; });
}

/// Sets from the largest down, so that f of smaller ones is still without this worker.
void Io0::add_worker(const Part& part, std::uint16_t* taken, int enter) {
  const auto free = static_cast<int>(std::min<std::int64_t>(slots().free(part.worker), enter));
  const std::int64_t load = loads_[part.worker];
  for (std::size_t set = least_.size(); set-- > 0;) {
    taken[set] = 0;
    if (members_[set] > enter) continue;
    std::int64_t best = least_[set];
    const std::size_t may = set & part.allowed;
    for (std::size_t t = may; t != 0; t = (t - 1) & may) {
      if (members_[t] > free || least_[set ^ t] == unreachable) continue;
      const std::int64_t peak = std::max(least_[set ^ t], load + tokens_[t]);
      if (peak >= best) continue;
      best = peak;
      taken[set] = static_cast<std::uint16_t>(t);
    }
    least_[set] = best;
  }
}

/// Of the sets with the most members that can enter together, the one of least imbalance.
std::uint32_t Io0::best_set() const {
  std::size_t best = 0;
  for (std::size_t set = 1; set < least_.size(); ++set) {
    if (least_[set] == unreachable) continue;
    const int more = members_[set] - members_[best];
    if (more > 0 || (more == 0 && imbalance(least_[set], tokens_[set]) < imbalance(least_[best], tokens_[best]))) {
      best = set;
    }
  }
  return static_cast<std::uint32_t>(best);
}

Result<std::unique_ptr<Policy>> make_io0(Parameters& parameters, const PolicyParts&) {
  return std::make_unique<Io0>(
      static_cast<std::size_t>(parameters.integer("window", 10, 1, JointPolicy::widest_window)));
}

}  // namespace evenkeel::routing
