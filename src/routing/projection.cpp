#include "routing/projection.hpp"

#include <algorithm>
#include <limits>

namespace evenkeel::routing {

void Projection::begin(std::size_t workers, std::int64_t window) {
  workers_ = workers;
  offsets_ = static_cast<std::size_t>(window) + 1;
  loads_.resize(workers_ * offsets_);
  peak_.assign(offsets_, workers == 0 ? 0 : std::numeric_limits<std::int64_t>::min());
  tokens_leave_.resize(offsets_);
  requests_leave_.resize(offsets_);
}

void Projection::begin_row() {
  std::fill(tokens_leave_.begin(), tokens_leave_.end(), 0);
  std::fill(requests_leave_.begin(), requests_leave_.end(), 0);
}

void Projection::fill_row(std::uint32_t worker, std::int64_t tokens, std::int64_t requests) {
  std::int64_t* const row = loads_.data() + worker * offsets_;
  for (std::size_t h = 0; h < offsets_; ++h) {
    tokens -= tokens_leave_[h];
    requests -= requests_leave_[h];
    row[h] = tokens + requests * static_cast<std::int64_t>(h);
    peak_[h] = std::max(peak_[h], row[h]);
  }
}

std::int64_t Projection::slack(std::uint32_t worker) const {
  const std::int64_t* const row = loads_.data() + worker * offsets_;
  std::int64_t least = peak_[0] - row[0];
  for (std::size_t h = 1; h < offsets_; ++h) least = std::min(least, peak_[h] - row[h]);
  return least;
}

void Projection::add(std::uint32_t worker, std::int64_t tokens, std::int64_t growth) {
  std::int64_t* const row = loads_.data() + worker * offsets_;
  for (std::size_t h = 0; h < offsets_; ++h) {
    row[h] += tokens + growth * static_cast<std::int64_t>(h);
    peak_[h] = std::max(peak_[h], row[h]);
  }
}

void Projection::take_back(std::uint32_t worker, std::int64_t tokens, std::int64_t growth,
                           std::span<const std::int64_t> peak_before) {
  std::int64_t* const row = loads_.data() + worker * offsets_;
  for (std::size_t h = 0; h < offsets_; ++h) row[h] -= tokens + growth * static_cast<std::int64_t>(h);
  std::copy(peak_before.begin(), peak_before.end(), peak_.begin());
}

}  // namespace evenkeel::routing
