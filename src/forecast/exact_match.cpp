#include "forecast/exact_match.hpp"

#include <algorithm>

#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

ExactMatch::ExactMatch(const ExactMatchOptions& options)
    : options_(options),
      buckets_(options.buckets, options.bucketed_lives, options.bucket_period),
      overall_(options.half_life) {}

std::optional<EndedLives> ExactMatch::law(const fleet::RunningView& request, std::int64_t age) const {
  const auto beyond = [&](const EndedLives& lives) { return lives.lengths.size() - lives.until(age); };
  if (request.prompt_key != 0) {
    const auto found = by_key_.find(request.prompt_key);
    if (found != by_key_.end()) {
      const EndedLives lives = found->second->lives.lives();
      if (lives.lengths.size() >= options_.least && beyond(lives) > 0) return lives;
    }
  }
  const EndedLives lives = buckets_.lives(request.prompt_tokens.value());
  // Requests of one bucket have little in common: a last few long lives would speak for all that have come so far.
  if (beyond(lives) >= options_.least) return lives;
  return std::nullopt;
}

double ExactMatch::remaining(const fleet::RunningView& request, std::int64_t horizon) const {
  const std::int64_t age = std::clamp<std::int64_t>(request.generated, 0, LengthGrid::longest);
  const auto lives = law(request, age);
  if (!lives) return overall_.remaining_at(age, horizon);
  return *lives->remaining(age, std::clamp<std::int64_t>(horizon, 1, LengthGrid::longest));
}

double ExactMatch::survival(const fleet::RunningView& request, std::int64_t tokens) const {
  if (tokens <= 0) return 1;
  const std::int64_t age = std::clamp<std::int64_t>(request.generated, 0, LengthGrid::longest);
  const auto lives = law(request, age);
  if (!lives) return overall_.survival_at(age, tokens);
  return *lives->survival(age, std::min(tokens, LengthGrid::longest));
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
