#include "planning/arrival_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "maths/dispersion.hpp"
#include "maths/quantiles.hpp"

namespace evenkeel::planning {

namespace {

constexpr double beyond = (1 - maths::usual_confidence) / 2;
constexpr std::size_t most_windows = 1'000'000;

std::size_t window_of(const Observation& seen, const FitOptions& options) {
  return static_cast<std::size_t>(seen.arrival_s / options.window_s);
}

std::vector<double> count(std::span<const Observation> heavy, std::size_t windows, const FitOptions& options) {
  std::vector<double> counts(windows);
  for (const auto& seen : heavy) {
    if (const std::size_t at = window_of(seen, options); at < windows) ++counts[at];
  }
  return counts;
}

std::uint32_t workers_seen(std::span<const Observation> heavy) {
  std::uint32_t seen = 0;
  for (const auto& request : heavy) {
    if (request.worker != Observation::no_worker) seen = std::max(seen, request.worker + 1);
  }
  return seen;
}

Fitted fit_rate(const ArrivalFit& fit) {
  const double arrivals = std::accumulate(fit.counts.begin(), fit.counts.end(), 0.0);
  if (arrivals < 10) {
    return failure(
        fmt::format("{} heavy arrivals in {} whole windows; a rate wants at least 10", arrivals, fit.counts.size()));
  }
  // Counts spread more than Poisson's carry as much as so many fewer.
  const double spread = fit.dispersion ? std::max(1.0, fit.dispersion->value) : 1;
  const double fair = arrivals / spread;
  return Estimate{arrivals / fit.span_s,
                  {maths::chi_square_quantile(beyond, 2 * fair) / 2 * spread / fit.span_s,
                   maths::chi_square_quantile(1 - beyond, 2 * fair + 2) / 2 * spread / fit.span_s},
                  static_cast<std::size_t>(arrivals),
                  fmt::format("arrivals in {:.6g} s; Garwood's interval, widened by the dispersion", fit.span_s)};
}

Fitted fit_recent_rate(const ArrivalFit& fit, const FitOptions& options) {
  if (!fit.rate) return tl::unexpected(fit.rate.error());
  maths::SmoothedRate smoothed(options.smoothing);
  for (const double windowful : fit.counts) smoothed.add(windowful);
  if (static_cast<double>(smoothed.windows()) < 2 * smoothed.settling_windows()) {
    return failure(fmt::format("{} windows; smoothing by {} settles in {:.1f} and wants twice as many",
                               smoothed.windows(), options.smoothing, smoothed.settling_windows()));
  }
  const double spread = fit.dispersion_about_drift ? std::max(1.0, fit.dispersion_about_drift->value) : 1;
  // A geometric mean of counts has the variance of one times weight / (2 - weight).
  const double mean = smoothed.value();
  const double error = 1.96 * std::sqrt(spread * mean * options.smoothing / (2 - options.smoothing));
  return Estimate{mean / options.window_s,
                  {std::max(0.0, mean - error) / options.window_s, (mean + error) / options.window_s},
                  smoothed.windows(),
                  fmt::format("windows, smoothed with weight {} (settles in {:.1f})", options.smoothing,
                              smoothed.settling_windows())};
}

Fitted of(const Result<maths::Dispersion>& found, std::string_view how) {
  if (!found) return tl::unexpected(found.error());
  return Estimate{found->index, found->interval, found->windows,
                  fmt::format("windows, {}; p = {:.2g} that arrivals are Poisson", how, found->p_poisson)};
}

Fitted implied_correlation(const ArrivalFit& fit) {
  if (!fit.dispersion_about_drift) return tl::unexpected(fit.dispersion_about_drift.error());
  if (fit.nodes == 0) return failure("the number of workers is neither told nor seen");
  const auto& spread = *fit.dispersion_about_drift;
  const auto nodes = static_cast<double>(fit.nodes);
  return Estimate{maths::correlation_of_dispersion(spread.value, nodes),
                  {maths::correlation_of_dispersion(spread.interval.low, nodes),
                   maths::correlation_of_dispersion(spread.interval.high, nodes)},
                  spread.samples,
                  fmt::format("windows, c = (D - 1) / (D - 1 + N) of the dispersion D about the drift, N = {}", nodes)};
}

/// Differences of adjacent windows, by worker: what is left of a common drift is little.
Fitted measured_correlation(std::span<const Observation> heavy, const ArrivalFit& fit, const FitOptions& options) {
  const std::uint32_t workers = workers_seen(heavy);
  if (workers < 2) return failure("fewer than two workers are named");
  constexpr std::size_t most_cells = 20'000'000;
  const std::size_t pairs = std::min(fit.counts.size() / 2, most_cells / workers);
  std::vector<std::vector<double>> rows(pairs, std::vector<double>(workers));
  for (const auto& seen : heavy) {
    const std::size_t window = window_of(seen, options);
    if (seen.worker == Observation::no_worker || window / 2 >= pairs) continue;
    rows[window / 2][seen.worker] += window % 2 == 0 ? 1 : -1;
  }
  Random random(options.seed);
  const auto found = maths::pairwise_correlation(rows, random);
  if (!found) return tl::unexpected(found.error());
  return Estimate{
      found->mean, found->interval, found->windows,
      fmt::format("pairs of windows, mean of Pearson's between {} workers, of differences; bootstrap", found->nodes)};
}

}  // namespace

ArrivalFit fit_arrivals(std::span<const Observation> heavy, double span_s, const FitOptions& options) {
  ArrivalFit fit;
  const double windows = std::floor(span_s / options.window_s);
  if (windows > static_cast<double>(most_windows)) {
    const auto why = failure(fmt::format("{} windows of {} s; allowed: {}", windows, options.window_s, most_windows));
    fit.rate = fit.recent_rate = fit.dispersion = fit.dispersion_about_drift = why;
    fit.correlation = fit.correlation_of_pairs = why;
    return fit;
  }
  fit.span_s = windows * options.window_s;
  fit.counts = count(heavy, static_cast<std::size_t>(windows), options);
  fit.nodes = options.nodes > 0 ? options.nodes : workers_seen(heavy);
  fit.dispersion = of(maths::dispersion(fit.counts), "about the mean of all");
  const auto about_drift = maths::dispersion_about_drift(fit.counts);
  fit.dispersion_about_drift = of(about_drift, "differences of adjacent ones");
  fit.rate = fit_rate(fit);
  fit.recent_rate = fit_recent_rate(fit, options);
  fit.correlation = implied_correlation(fit);
  fit.correlation_of_pairs = measured_correlation(heavy, fit, options);
  fit.stretches =
      maths::stretches_of_rate(fit.counts, {.dispersion = about_drift ? std::max(1.0, about_drift->index) : 1});
  return fit;
}

}  // namespace evenkeel::planning
