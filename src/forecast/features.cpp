#include "forecast/features.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::size_t window = 256;

/// Mean, standard deviation, then the quantiles asked for, by nearest rank.
void summarize(const EndedLives& lives, std::initializer_list<double> quantiles, float* into) {
  const auto count = static_cast<double>(lives.lengths.size());
  const double mean = static_cast<double>(lives.sums.back()) / count;
  double squares = 0;
  for (const std::int32_t length : lives.lengths) squares += (length - mean) * (length - mean);
  *into++ = static_cast<float>(mean);
  *into++ = static_cast<float>(std::sqrt(squares / count));
  for (const double q : quantiles) {
    *into++ = static_cast<float>(lives.lengths[static_cast<std::size_t>(q * (count - 1) + 0.5)]);
  }
}

}  // namespace

Features::Features() : prompts_(window), outputs_(window) {}

void Features::finished(const fleet::LeaseSummary& summary) {
  const std::int64_t output = summary.output_tokens.value();
  if (summary.outcome != fleet::Outcome::completed || output <= 0) return;
  const auto bounded = [](std::int64_t tokens) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(tokens, 0, 1 << 30));
  };
  const std::int32_t length = bounded(std::min(output, LengthGrid::longest));
  prompts_.add(bounded(summary.prompt_tokens.value()));
  outputs_.add(length);
  ++ends_;
  std::size_t at = 2;
  for (const double ends : {16.0, 128.0, 1024.0}) {
    // A plain mean while the history is shorter than what the weight remembers.
    const double weight = std::max(1 - std::exp2(-1 / ends), 1 / static_cast<double>(ends_));
    common_[at] += static_cast<float>(weight) * (static_cast<float>(length) - common_[at]);
    ++at;
  }
  summarize(prompts_.lives(), {0.1, 0.5, 0.9}, &common_[5]);
  summarize(outputs_.lives(), {0.1, 0.25, 0.5, 0.75, 0.9}, &common_[10]);
}

FeatureRow Features::row(const fleet::RunningView& request) const {
  FeatureRow row = common_;
  row[0] = static_cast<float>(request.prompt_tokens.value());
  row[1] = static_cast<float>(std::max<std::int64_t>(request.generated, 0));
  return row;
}

}  // namespace evenkeel::forecast
