#include "forecast/exact_match.hpp"

#include <algorithm>

#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

ExactMatch::ExactMatch(const ExactMatchOptions& options)
    : options_(options),
      buckets_(options.buckets, options.bucketed_lives, options.bucket_period),
      overall_(options.half_life) {}

EndedLives ExactMatch::history(const fleet::RunningView& request) const {
  if (request.prompt_key == 0) return {};
  const auto found = by_key_.find(request.prompt_key);
  return found == by_key_.end() ? EndedLives{} : found->second->lives.lives();
}

EndedLives ExactMatch::bucket(const fleet::RunningView& request) const {
  return buckets_.lives(request.prompt_tokens.value());
}

double ExactMatch::remaining(const fleet::RunningView& request, std::int64_t horizon) const {
  const std::int64_t age = std::clamp<std::int64_t>(request.generated, 0, LengthGrid::longest);
  const std::int64_t within = std::clamp<std::int64_t>(horizon, 1, LengthGrid::longest);
  for (const EndedLives& lives : {history(request), bucket(request)}) {
    if (lives.lengths.size() < options_.least) continue;
    if (const auto answer = lives.remaining(age, within)) return *answer;
  }
  return overall_.remaining_at(age, horizon);
}

double ExactMatch::survival(const fleet::RunningView& request, std::int64_t tokens) const {
  if (tokens <= 0) return 1;
  const std::int64_t age = std::clamp<std::int64_t>(request.generated, 0, LengthGrid::longest);
  const std::int64_t within = std::min(tokens, LengthGrid::longest);
  for (const EndedLives& lives : {history(request), bucket(request)}) {
    if (lives.lengths.size() < options_.least) continue;
    if (const auto answer = lives.survival(age, within)) return *answer;
  }
  return overall_.survival_at(age, tokens);
}

void ExactMatch::learn(std::uint64_t key, std::int32_t length) {
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    histories_.splice(histories_.begin(), histories_, found->second);
  } else if (histories_.size() < options_.keys) {
    histories_.push_front({key, RecentLives(options_.lives_a_key)});
    by_key_.emplace(key, histories_.begin());
  } else {
    by_key_.erase(histories_.back().key);
    histories_.splice(histories_.begin(), histories_, std::prev(histories_.end()));
    histories_.front().key = key;
    histories_.front().lives.clear();
    by_key_.emplace(key, histories_.begin());
  }
  histories_.front().lives.add(length);
}

void ExactMatch::finished(const fleet::LeaseSummary& summary, Time now) {
  overall_.finished(summary, now);
  const std::int64_t tokens = summary.output_tokens.value();
  if (summary.outcome != fleet::Outcome::completed || tokens <= 0) return;
  const auto length = static_cast<std::int32_t>(std::min(tokens, LengthGrid::longest));
  buckets_.add(summary.prompt_tokens.value(), length);
  if (summary.prompt_key != 0 && options_.keys > 0) learn(summary.prompt_key, length);
}

}  // namespace evenkeel::forecast
