#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace evenkeel::forecast {

/// Output lengths of requests that have ended, ascending, with their sums before each place. Answers are the empirical
/// law's, exact, in two binary searches. Nothing when no life lasted beyond the age.
struct EndedLives {
  std::span<const std::int32_t> lengths;
  std::span<const std::int64_t> sums;  ///< one more than lengths; sums[i] is that of the first i

  /// How many lasted no longer than `length`.
  [[nodiscard]] std::size_t until(std::int64_t length) const {
    return static_cast<std::size_t>(std::upper_bound(lengths.begin(), lengths.end(), length) - lengths.begin());
  }
  /// E[min(O - age, horizon) | O > age] = (sum of (O - age) over age < O <= age + horizon, and horizon for each that
  /// lasted longer) / those that lasted beyond age (arXiv 2605.06113: (1 - p) H + p mu in one pass).
  [[nodiscard]] std::optional<double> remaining(std::int64_t age, std::int64_t horizon) const {
    const std::size_t over = until(age);
    if (over == lengths.size()) return std::nullopt;
    const std::size_t later = until(age + horizon);
    const auto ending = static_cast<std::int64_t>(later - over);
    const auto staying = static_cast<std::int64_t>(lengths.size() - later);
    const std::int64_t tokens = sums[later] - sums[over] - ending * age + staying * horizon;
    return static_cast<double>(tokens) / static_cast<double>(lengths.size() - over);
  }
  /// P(O > age + tokens | O > age).
  [[nodiscard]] std::optional<double> survival(std::int64_t age, std::int64_t tokens) const {
    const std::size_t over = until(age);
    if (over == lengths.size()) return std::nullopt;
    return static_cast<double>(lengths.size() - until(age + tokens)) / static_cast<double>(lengths.size() - over);
  }
};

/// The last `capacity` lengths of one kind of request.
class RecentLives {
 public:
  explicit RecentLives(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

  /// Cost O(capacity), a move of memory.
  void add(std::int32_t length) {
    if (order_.size() == capacity_) {
      sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), order_[next_]));
      order_[next_] = length;
    } else {
      order_.push_back(length);
    }
    next_ = (next_ + 1) % capacity_;
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), length), length);
    sums_.assign(1, 0);
    for (const std::int32_t each : sorted_) sums_.push_back(sums_.back() + each);
  }
  void clear() {
    order_.clear();
    sorted_.clear();
    sums_.assign(1, 0);
    next_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return sorted_.size(); }
  [[nodiscard]] EndedLives lives() const { return {sorted_, sums_}; }

 private:
  std::size_t capacity_;
  std::size_t next_ = 0;             ///< place in order_ of the next, and once full of the oldest
  std::vector<std::int32_t> order_;  ///< as they came, a ring
  std::vector<std::int32_t> sorted_;
  std::vector<std::int64_t> sums_{0};
};

}  // namespace evenkeel::forecast
