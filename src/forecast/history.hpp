#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fleet/books.hpp"

namespace evenkeel::forecast {

/// What a forecast learns from a request that has ended.
struct EndedRequest {
  std::uint64_t prompt_key = 0;  ///< as of fleet::RunningView
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
  bool completed = false;  ///< else it was broken off: it would have lasted longer

  [[nodiscard]] static EndedRequest of(const fleet::LeaseSummary& summary) {
    const auto fit = [](Tokens tokens) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(tokens.value(), 0, std::numeric_limits<std::int32_t>::max()));
    };
    return {summary.prompt_key, fit(summary.prompt_tokens), fit(summary.output_tokens),
            summary.outcome == fleet::Outcome::completed};
  }
  /// Of no request in particular: its id is 0.
  [[nodiscard]] fleet::LeaseSummary summary(ModelId model) const {
    fleet::LeaseSummary told;
    told.model = model;
    told.outcome = completed ? fleet::Outcome::completed : fleet::Outcome::cancelled;
    told.prompt_tokens = Tokens(prompt_tokens);
    told.output_tokens = Tokens(output_tokens);
    told.had_output = output_tokens > 0;
    told.prompt_key = prompt_key;
    return told;
  }
  friend bool operator==(const EndedRequest&, const EndedRequest&) = default;
};

/// The last `capacity` requests that ended.
class History {
 public:
  explicit History(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

  void add(const EndedRequest& request) {
    if (ring_.size() < capacity_) {
      ring_.push_back(request);
    } else {
      ring_[oldest_] = request;
      oldest_ = (oldest_ + 1) % capacity_;
    }
  }
  [[nodiscard]] std::size_t size() const { return ring_.size(); }
  /// The oldest first. Two moves of memory, if `to` has the capacity.
  void copy_to(std::vector<EndedRequest>& to) const {
    const auto oldest = ring_.begin() + static_cast<std::ptrdiff_t>(oldest_);
    to.assign(oldest, ring_.end());
    to.insert(to.end(), ring_.begin(), oldest);
  }

 private:
  std::size_t capacity_;
  std::size_t oldest_ = 0;  ///< once full
  std::vector<EndedRequest> ring_;
};

}  // namespace evenkeel::forecast
