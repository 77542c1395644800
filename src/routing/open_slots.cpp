#include "routing/open_slots.hpp"

#include <algorithm>
#include <numeric>

namespace evenkeel::routing {

namespace {
/// A worker without a limit has as many slots as anybody will ever fill; the sum of them must not overflow.
constexpr std::int64_t unlimited_slots = std::int64_t{1} << 32;
}  // namespace

void OpenSlots::begin(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Random& random) {
  waiting_ = waiting;
  pool_.resize(waiting.size());
  std::iota(pool_.begin(), pool_.end(), 0U);
  free_.resize(fleet.workers.size());
  workers_.clear();
  total_ = 0;
  for (std::uint32_t g = 0; g < fleet.workers.size(); ++g) {
    free_[g] = std::clamp<std::int64_t>(fleet.workers[g].free_slots(), 0, unlimited_slots);
    if (free_[g] == 0) continue;
    workers_.push_back(g);
    total_ += free_[g];
  }
  for (std::size_t i = workers_.size(); i > 1; --i) std::swap(workers_[i - 1], workers_[random.below(i)]);
  allowed_by_first_.assign(fleet.workers.size(), false);
  if (waiting.empty()) return;
  for (const std::uint32_t g : waiting.front().candidates) allowed_by_first_[g] = true;
}

bool OpenSlots::may_enter(std::uint32_t request, std::uint32_t worker) const {
  if (free_[worker] == 0) return false;
  const auto candidates = waiting_[request].candidates;
  const auto usual = waiting_.front().candidates;
  if (candidates.data() == usual.data() && candidates.size() == usual.size()) return allowed_by_first_[worker];
  return std::binary_search(candidates.begin(), candidates.end(), worker);
}

std::int64_t OpenSlots::prompt(std::uint32_t request) const {
  return std::max<std::int64_t>(0, waiting_[request].prompt_tokens.value());
}

void OpenSlots::first_for(std::uint32_t worker, std::size_t limit, std::vector<std::uint32_t>& requests) const {
  requests.clear();
  for (const std::uint32_t request : pool_) {
    if (requests.size() == limit) return;
    if (may_enter(request, worker)) requests.push_back(request);
  }
}

void OpenSlots::admit(std::uint32_t request, std::uint32_t worker) {
  pool_.erase(std::lower_bound(pool_.begin(), pool_.end(), request));
  --free_[worker];
  --total_;
}

void OpenSlots::close(std::uint32_t worker) {
  total_ -= free_[worker];
  free_[worker] = 0;
}

}  // namespace evenkeel::routing
