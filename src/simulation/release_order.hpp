#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace evenkeel::simulation {

/// Who overtook whom, by the numbers of release (0, 1, 2, ... as they come).
class ReleaseOrder {
 public:
  [[nodiscard]] std::uint64_t release() {
    waiting_.push_back(released_);
    return released_++;
  }
  /// These have started, in one step: they overtake nobody of the same step.
  void start(std::span<const std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) waiting_.erase(std::ranges::lower_bound(waiting_, number));
    started_ += numbers.size();
  }
  /// Later releases that have started before that one, which waits. All started less the earlier ones among them.
  [[nodiscard]] std::int64_t overtakes(std::uint64_t number) const {
    const auto earlier_waiting = std::ranges::lower_bound(waiting_, number) - waiting_.begin();
    return static_cast<std::int64_t>(started_ - number) + earlier_waiting;
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t released() const { return released_; }

 private:
  std::vector<std::uint64_t> waiting_;  ///< ascending
  std::uint64_t released_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace evenkeel::simulation
