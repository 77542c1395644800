#include "planning/length_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.hpp"

namespace evenkeel::planning {

namespace {

constexpr double normal_975 = 1.959964;

/// Mean of numerators over mean of denominators, its standard error by linearization (Cochran 1977, section 2.11).
class Ratio {
 public:
  void add(double numerator, double denominator) {
    ++n_;
    top_ += numerator;
    bottom_ += denominator;
    top_top_ += numerator * numerator;
    top_bottom_ += numerator * denominator;
    bottom_bottom_ += denominator * denominator;
  }
  [[nodiscard]] std::size_t count() const { return n_; }
  /// Refused under `least` terms.
  [[nodiscard]] Fitted estimate(std::string_view what, std::string provenance) const {
    constexpr std::size_t least = 10;
    if (n_ < least) return failure(fmt::format("{}: {}; a mean wants at least {}", what, n_, least));
    const auto n = static_cast<double>(n_);
    const double value = top_ / bottom_;
    const double squares = top_top_ - 2 * value * top_bottom_ + value * value * bottom_bottom_;
    const double error = normal_975 * std::sqrt(std::max(0.0, squares) / (n * (n - 1))) / (bottom_ / n);
    return Estimate{value, {std::max(0.0, value - error), value + error}, n_, std::move(provenance)};
  }

 private:
  std::size_t n_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  double top_top_ = 0;
  double top_bottom_ = 0;
  double bottom_bottom_ = 0;
};

Fitted fit_token_s(std::span<const Observation> heavy, const FitOptions& options) {
  if (options.token_s > 0) return Estimate{options.token_s, {options.token_s, options.token_s}, 0, "as told"};
  Ratio ratio;
  for (const auto& seen : heavy) {
    if (seen.decode_s > 0 && seen.output_tokens >= 2) ratio.add(seen.decode_s, seen.output_tokens - 1);
  }
  if (ratio.count() == 0) return failure("no times of answers are known: say --token-ms");
  return ratio.estimate("answers with times", "answers with times: time after the first token over tokens after it");
}

/// Times where they are known, else tokens times the time of one; nothing without both.
std::optional<double> duration_of(const Observation& seen, const Fitted& token_s) {
  if (seen.duration_s > 0) return seen.duration_s;
  if (token_s) return seen.output_tokens * token_s->value;
  return std::nullopt;
}

Fitted mean_of(std::span<const Observation> heavy, double Observation::*field, bool ended_only, std::string_view what) {
  Ratio ratio;
  for (const auto& seen : heavy) {
    if (seen.ended || !ended_only) ratio.add(seen.*field, 1);
  }
  return ratio.estimate(what, fmt::format("{}, mean", what));
}

std::vector<maths::Lifetime> lifetimes(std::span<const Observation> heavy, const LengthFit& fit) {
  std::vector<maths::Lifetime> found;
  found.reserve(heavy.size());
  for (const auto& seen : heavy) {
    const double value = fit.unit == "s" ? *duration_of(seen, fit.token_s) : seen.output_tokens;
    found.push_back({value, seen.ended});
  }
  return found;
}

Fitted fit_duration(std::span<const Observation> heavy, const LengthFit& fit) {
  if (fit.unit != "s") return tl::unexpected(fit.token_s.error());
  Ratio ratio;
  for (const auto& seen : heavy) {
    if (seen.ended) ratio.add(*duration_of(seen, fit.token_s), 1);
  }
  return ratio.estimate("requests that were not cut off", "requests that were not cut off, mean");
}

Fitted fit_tail(std::span<const Observation> heavy, LengthFit& fit, const FitOptions& options) {
  auto sample = maths::TailSample::of(lifetimes(heavy, fit));
  if (!sample) return tl::unexpected(sample.error());
  const auto tail = options.tail_k > 0 ? sample->fit(options.tail_k) : sample->fit();
  if (!tail) return tl::unexpected(tail.error());
  fit.sample = std::move(*sample);
  fit.tail = *tail;
  return Estimate{
      tail->index, tail->interval, tail->k,
      fmt::format("values over {:.4g} {} of {}, {} of them cut off: Hill, k {}", tail->threshold, fit.unit,
                  tail->samples, tail->k - tail->ended, options.tail_k > 0 ? "as told" : "by least distance")};
}

std::optional<maths::Modality> fit_peaks(std::span<const Observation> heavy, const LengthFit& fit,
                                         const FitOptions& options) {
  std::vector<double> logs;
  for (const auto& [value, ended] : lifetimes(heavy, fit)) {
    if (ended) logs.push_back(std::log(value));
  }
  Random random(options.seed);
  const auto found = maths::modality(logs, random);
  return found ? std::optional(*found) : std::nullopt;
}

void fit_footprints(std::span<const Observation> heavy, LengthFit& fit, const FitOptions& options) {
  const double gb = options.kv_bytes / 1e9;
  if (gb == 0) {
    fit.prompt_gb = fit.growth_gb_per_s = fit.window_gb = failure("what a token holds is not told: say --kv-bytes");
    return;
  }
  fit.prompt_gb = fit.prompt_tokens;
  if (fit.prompt_gb) {
    auto& of = *fit.prompt_gb;
    of = {of.value * gb, {of.interval.low * gb, of.interval.high * gb}, of.samples, "prompts, times bytes a token"};
  }
  if (!fit.token_s) {
    fit.growth_gb_per_s = fit.window_gb = tl::unexpected(fit.token_s.error());
    return;
  }
  const auto& step = *fit.token_s;
  fit.growth_gb_per_s = Estimate{gb / step.value,
                                 {gb / step.interval.high, gb / step.interval.low},
                                 step.samples,
                                 "bytes a token over the time of a token"};
  // An arrival of the window is at its end of an age uniform over it, if it is still there: int_0^min(S, T) of what it
  // holds, over int_0^min(S, T) of 1.
  Ratio ratio;
  for (const auto& seen : heavy) {
    const double there = std::min(*duration_of(seen, fit.token_s), options.window_s);
    ratio.add(gb * (seen.prompt_tokens * there + there * there / 2 / step.value), there);
  }
  fit.window_gb = ratio.estimate("requests", fmt::format("requests, over ages up to {:.6g} s", options.window_s));
}

/// Where a mean prompt leaves the context full; never under what was seen.
double cap_of(const LengthFit& fit, const FitOptions& options) {
  if (options.context_tokens == 0 || !fit.prompt_tokens || !fit.sample) return 0;
  const double longest = fit.sample->values().front().value;
  const double tokens = options.context_tokens - fit.prompt_tokens->value;
  if (fit.unit == "tokens") return std::max(longest, tokens);
  return fit.token_s ? std::max(longest, tokens * fit.token_s->value) : 0;
}

}  // namespace

LengthFit fit_lengths(std::span<const Observation> heavy, const FitOptions& options) {
  LengthFit fit;
  fit.token_s = fit_token_s(heavy, options);
  const auto is_timed = [&](const Observation& seen) { return duration_of(seen, fit.token_s).has_value(); };
  if (std::ranges::all_of(heavy, is_timed)) fit.unit = "s";
  fit.cut_off =
      static_cast<std::size_t>(std::ranges::count_if(heavy, [](const Observation& seen) { return !seen.ended; }));
  fit.prompt_tokens = mean_of(heavy, &Observation::prompt_tokens, false, "requests");
  fit.output_tokens = mean_of(heavy, &Observation::output_tokens, true, "requests that were not cut off");
  fit.duration = fit_duration(heavy, fit);
  fit.tail_index = fit_tail(heavy, fit, options);
  if (fit.tail) fit.peaks = fit_peaks(heavy, fit, options);
  fit_footprints(heavy, fit, options);
  fit.cap = cap_of(fit, options);
  return fit;
}

}  // namespace evenkeel::planning
