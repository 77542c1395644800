#include "routing/placement_search.hpp"

#include <algorithm>
#include <numeric>

#include "routing/margin_score.hpp"

namespace evenkeel::routing {

PlacementSearch::Found PlacementSearch::run(Projection& projection, const OpenSlots& slots,
                                            std::span<const std::uint32_t> window, std::int64_t& looks) {
  projection_ = &projection;
  slots_ = &slots;
  window_ = window;
  looks_ = &looks;
  prepare();
  count_those_that_can_enter();
  start();
  if (count_ == 1) return {best_, true, best_place_};
  search({});
  return {best_, looks > 0, best_place_};
}

void PlacementSearch::prepare() {
  const std::size_t offsets = projection_->offsets();
  while (weights_.size() < offsets) weights_.push_back(weights_.empty() ? 1.0 : weights_.back() * gamma_);
  sums_.assign(offsets, 0);
  for (std::uint32_t g = 0; g < projection_->workers(); ++g) {
    const auto row = projection_->row(g);
    for (std::size_t h = 0; h < offsets; ++h) sums_[h] += row[h];
  }
  order_.resize(window_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return size(a) > size(b); });
  longest_.assign(1, 0);
  for (const std::uint32_t position : order_) longest_.push_back(longest_.back() + size(position));
  if (children_.size() < window_.size()) {
    children_.resize(window_.size());
    peaks_.resize(window_.size());
  }
  given_.assign(projection_->workers(), 0);
  find_twins();
}

void PlacementSearch::find_twins() {
  twin_.assign(projection_->workers(), nowhere);
  const auto open = slots_->workers();
  for (std::size_t later = 1; later < open.size(); ++later) {
    for (std::size_t earlier = later; earlier-- > 0 && twin_[open[later]] == nowhere;) {
      if (alike(open[earlier], open[later])) twin_[open[later]] = open[earlier];
    }
  }
}

bool PlacementSearch::alike(std::uint32_t a, std::uint32_t b) const {
  if (slots_->free(a) != slots_->free(b) || !std::ranges::equal(projection_->row(a), projection_->row(b))) return false;
  return std::all_of(window_.begin(), window_.end(), [&](std::uint32_t request) {
    return slots_->may_enter(request, a) == slots_->may_enter(request, b);
  });
}

/// A maximum matching of requests and slots, by augmenting paths; left in place_.
void PlacementSearch::count_those_that_can_enter() {
  place_.assign(window_.size(), nowhere);
  count_ = 0;
  for (std::uint32_t position = 0; position < window_.size() && count_ < slots_->total(); ++position) {
    visited_.assign(projection_->workers(), false);
    count_ += find_place(position) ? 1 : 0;
  }
  std::fill(given_.begin(), given_.end(), 0);
}

bool PlacementSearch::find_place(std::uint32_t position) {
  for (const std::uint32_t worker : slots_->workers()) {
    if (visited_[worker] || !slots_->may_enter(window_[position], worker)) continue;
    visited_[worker] = true;
    if (given_[worker] < slots_->free(worker)) {
      ++given_[worker];
      place_[position] = worker;
      return true;
    }
    for (std::uint32_t other = 0; other < window_.size(); ++other) {
      if (place_[other] != worker || !find_place(other)) continue;
      place_[position] = worker;
      return true;
    }
  }
  return false;
}

/// The first solution: the best single one again and again or, if bars let in fewer that way, the matching.
void PlacementSearch::start() {
  start_peak_.assign(projection_->peak().begin(), projection_->peak().end());
  best_place_.swap(place_);
  place_.assign(window_.size(), nowhere);
  std::int64_t tokens = 0, entered = 0;
  for (Single single = best_single(tokens, 1); entered < count_ && single.child.worker != nowhere;
       single = best_single(tokens, entered + 1)) {
    enter(single.position, single.child.worker);
    best_ = single.child.bound;
    tokens += size(single.position);
    ++entered;
  }
  const bool fewer = entered < count_;
  if (!fewer) best_place_ = place_;
  leave_all();
  if (!fewer) return;
  tokens = 0;
  for (std::uint32_t position = 0; position < window_.size(); ++position) {
    if (best_place_[position] == nowhere) continue;
    enter(position, best_place_[position]);
    tokens += size(position);
  }
  best_ = bound(nowhere, 0, tokens, count_);
  leave_all();
}

PlacementSearch::Single PlacementSearch::best_single(std::int64_t tokens, std::int64_t count) const {
  Single best;
  for (std::uint32_t position = 0; position < window_.size(); ++position) {
    if (place_[position] != nowhere) continue;
    for (const std::uint32_t worker : slots_->workers()) {
      if (!may_enter(position, worker)) continue;
      const double cost = bound(worker, size(position), tokens + size(position), count);
      if (best.child.worker == nowhere || clearly_above(best.child.bound, cost)) best = {position, {cost, worker}};
    }
  }
  return best;
}

void PlacementSearch::search(const Path& path) {
  if (path.entered == count_) return;  // noted when it was reached
  std::vector<Child>& children = children_[path.depth];
  list_children(path, children);
  for (const Child& child : children) {
    if (*looks_ <= 0 || !clearly_above(best_, child.bound)) return;
    follow(path, child);
  }
}

/// What may become of the next request, most promising first.
void PlacementSearch::list_children(const Path& path, std::vector<Child>& children) {
  children.clear();
  const std::uint32_t position = order_[path.depth];
  const std::int64_t others = count_ - path.entered - 1;  // to enter after this one, if it enters
  const auto longest = [&](std::int64_t of_the_rest) {
    const std::size_t next = path.depth + 1;
    return longest_[next + static_cast<std::size_t>(of_the_rest)] - longest_[next];
  };
  const auto rest = static_cast<std::int64_t>(order_.size() - path.depth) - 1;
  if (others <= rest) {
    const std::int64_t tokens = path.tokens + size(position) + longest(others);
    for (const std::uint32_t worker : slots_->workers()) {
      if (!may_enter(position, worker) || untouched_twin(worker)) continue;
      --*looks_;
      children.push_back({bound(worker, size(position), tokens, count_), worker});
    }
  }
  if (others + 1 <= rest) {
    --*looks_;
    children.push_back({bound(nowhere, 0, path.tokens + longest(others + 1), count_), nowhere});
  }
  std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) { return a.bound < b.bound; });
}

void PlacementSearch::follow(const Path& path, const Child& child) {
  const std::uint32_t position = order_[path.depth];
  if (child.worker == nowhere) {
    search({path.depth + 1, path.entered, path.tokens});
    return;
  }
  std::vector<std::int64_t>& peak = peaks_[path.depth];
  peak.assign(projection_->peak().begin(), projection_->peak().end());
  enter(position, child.worker);
  if (path.entered + 1 == count_) {  // then the bound is the cost itself
    best_ = child.bound;
    best_place_ = place_;
  }
  search({path.depth + 1, path.entered + 1, path.tokens + size(position)});
  leave(position, peak);
}

bool PlacementSearch::untouched_twin(std::uint32_t worker) const {
  return twin_[worker] != nowhere && given_[twin_[worker]] == 0;
}

double PlacementSearch::bound(std::uint32_t worker, std::int64_t size, std::int64_t tokens, std::int64_t count) const {
  const auto peak = projection_->peak();
  const auto row = worker == nowhere ? peak : projection_->row(worker);
  const auto workers = static_cast<std::int64_t>(projection_->workers());
  double sum = 0;
  for (std::size_t h = 0; h < peak.size(); ++h) {
    const auto offset = static_cast<std::int64_t>(h);
    const std::int64_t after = worker == nowhere ? peak[h] : std::max(peak[h], row[h] + size + offset);
    const std::int64_t gap = workers * after - sums_[h] - tokens - count * offset;
    sum += weights_[h] * static_cast<double>(std::max<std::int64_t>(0, gap));
  }
  return sum;
}

bool PlacementSearch::may_enter(std::uint32_t position, std::uint32_t worker) const {
  return given_[worker] < slots_->free(worker) && slots_->may_enter(window_[position], worker);
}

void PlacementSearch::enter(std::uint32_t position, std::uint32_t worker) {
  place_[position] = worker;
  ++given_[worker];
  projection_->add(worker, size(position), 1);
}

void PlacementSearch::leave(std::uint32_t position, std::span<const std::int64_t> peak_before) {
  const std::uint32_t worker = place_[position];
  place_[position] = nowhere;
  --given_[worker];
  projection_->take_back(worker, size(position), 1, peak_before);
}

void PlacementSearch::leave_all() {
  for (std::uint32_t position = 0; position < window_.size(); ++position) {
    if (place_[position] != nowhere) leave(position, start_peak_);
  }
}

}  // namespace evenkeel::routing
