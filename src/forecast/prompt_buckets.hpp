#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forecast/ended_lives.hpp"

namespace evenkeel::forecast {

/// The last ended requests by quantile of their prompt's length: an equal number of them a bucket, the buckets made
/// anew once in `period` ends (a sort of `capacity` pairs). Before the first time there is no bucket.
class PromptBuckets {
 public:
  PromptBuckets(std::size_t buckets, std::size_t capacity, std::size_t period)
      : buckets_(buckets), capacity_(capacity), period_(period) {}

  void add(std::int64_t prompt, std::int32_t length);
  /// The lives of the bucket of that prompt; empty while there is none.
  [[nodiscard]] EndedLives lives(std::int64_t prompt) const;

 private:
  struct Ended {
    std::int64_t prompt = 0;
    std::int32_t length = 0;
  };
  void rebuild();

  std::size_t buckets_;
  std::size_t capacity_;
  std::size_t period_;
  std::size_t next_ = 0;
  std::size_t since_ = 0;
  std::vector<Ended> recent_;  ///< a ring
  std::vector<Ended> by_prompt_;
  std::vector<std::int64_t> first_prompt_;  ///< of each bucket
  std::vector<std::size_t> begin_;          ///< of each bucket in lengths_, then the end
  std::vector<std::int32_t> lengths_;       ///< ascending within a bucket
  std::vector<std::int64_t> sums_;          ///< one more place a bucket than lengths_
};

}  // namespace evenkeel::forecast
