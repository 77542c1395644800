#include "forecast/prompt_buckets.hpp"

#include <algorithm>

namespace evenkeel::forecast {

void PromptBuckets::add(std::int64_t prompt, std::int32_t length) {
  if (recent_.size() < capacity_) {
    recent_.push_back({prompt, length});
  } else {
    recent_[next_] = {prompt, length};
  }
  next_ = (next_ + 1) % capacity_;
  if (++since_ < period_) return;
  since_ = 0;
  rebuild();
}

void PromptBuckets::rebuild() {
  by_prompt_ = recent_;
  std::sort(by_prompt_.begin(), by_prompt_.end(), [](const Ended& a, const Ended& b) {
    return a.prompt != b.prompt ? a.prompt < b.prompt : a.length < b.length;
  });
  first_prompt_.clear();
  begin_.clear();
  lengths_.clear();
  sums_.clear();
  const std::size_t count = by_prompt_.size();
  std::size_t begin = 0;
  for (std::size_t bucket = 0; bucket < buckets_ && begin < count; ++bucket) {
    // Equal prompts share a bucket, so one may take what would have been the next one's.
    std::size_t end = std::max(begin + 1, (bucket + 1) * count / buckets_);
    while (end < count && by_prompt_[end].prompt == by_prompt_[end - 1].prompt) ++end;
    first_prompt_.push_back(by_prompt_[begin].prompt);
    begin_.push_back(begin);
    for (std::size_t i = begin; i < end; ++i) lengths_.push_back(by_prompt_[i].length);
    std::sort(lengths_.begin() + static_cast<std::ptrdiff_t>(begin), lengths_.end());
    sums_.push_back(0);
    for (std::size_t i = begin; i < end; ++i) sums_.push_back(sums_.back() + lengths_[i]);
    begin = end;
  }
  begin_.push_back(count);
}

EndedLives PromptBuckets::lives(std::int64_t prompt) const {
  if (first_prompt_.empty()) return {};
  const auto above = std::upper_bound(first_prompt_.begin(), first_prompt_.end(), prompt);
  const auto bucket = static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - first_prompt_.begin() - 1, 0));
  const std::size_t begin = begin_[bucket];
  const std::size_t count = begin_[bucket + 1] - begin;
  return {std::span(lengths_).subspan(begin, count), std::span(sums_).subspan(begin + bucket, count + 1)};
}

}  // namespace evenkeel::forecast
