#include "maths/dispersion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "maths/percentile.hpp"
#include "maths/quantiles.hpp"

namespace evenkeel::maths {

namespace {

Result<void> check_counts(std::span<const double> counts) {
  double sum = 0;
  for (const double count : counts) {
    if (!std::isfinite(count) || count < 0) {
      return failure(fmt::format("a count is {}; allowed: finite numbers from 0", count));
    }
    sum += count;
  }
  if (sum == 0) return failure("no arrival in any window");
  return {};
}

/// Interval and test of an index that is a mean of `dof` squares, whose kurtosis in excess of the normal's is given.
void judge(Dispersion& found, double dof, double excess_kurtosis) {
  const double p_less = 1 - chi_square_above(dof * found.index, dof);
  found.p_poisson = std::min(1.0, 2 * std::min(p_less, 1 - p_less));
  const double fair_dof = dof / (1 + std::max(0.0, excess_kurtosis) / 2);
  const double beyond = (1 - usual_confidence) / 2;
  found.interval = {fair_dof * found.index / chi_square_quantile(1 - beyond, fair_dof),
                    fair_dof * found.index / chi_square_quantile(beyond, fair_dof)};
}

}  // namespace

Result<Dispersion> dispersion(std::span<const double> counts) {
  if (counts.size() < least_windows) {
    return failure(fmt::format("{} windows; dispersion wants at least {}", counts.size(), least_windows));
  }
  if (auto sound = check_counts(counts); !sound) return tl::unexpected(sound.error());
  const auto n = static_cast<double>(counts.size());
  Dispersion found;
  found.windows = counts.size();
  found.mean = std::accumulate(counts.begin(), counts.end(), 0.0) / n;
  double squares = 0;
  double fourths = 0;
  for (const double count : counts) {
    const double square = (count - found.mean) * (count - found.mean);
    squares += square;
    fourths += square * square;
  }
  found.index = squares / (n - 1) / found.mean;
  judge(found, n - 1, squares > 0 ? n * fourths / (squares * squares) - 3 : 0);
  return found;
}

Result<Dispersion> dispersion_about_drift(std::span<const double> counts) {
  if (counts.size() < 2 * least_windows) {
    return failure(
        fmt::format("{} windows; dispersion about a drift wants at least {}", counts.size(), 2 * least_windows));
  }
  if (auto sound = check_counts(counts); !sound) return tl::unexpected(sound.error());
  double squares = 0;
  double fourths = 0;
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i + 1 < counts.size(); i += 2) {
    const double both = counts[i] + counts[i + 1];
    if (both == 0) continue;
    const double square = (counts[i] - counts[i + 1]) * (counts[i] - counts[i + 1]);
    squares += square;
    fourths += square * square;
    sum += both;
    ++pairs;
  }
  if (pairs < least_windows) {
    return failure(fmt::format("{} pairs of adjacent windows with arrivals; dispersion about a drift wants at least {}",
                               pairs, least_windows));
  }
  const auto n = static_cast<double>(pairs);
  Dispersion found;
  found.windows = 2 * pairs;
  found.mean = sum / (2 * n);
  found.index = squares / sum;
  judge(found, n, squares > 0 ? n * fourths / (squares * squares) - 3 : 0);
  return found;
}

double correlation_of_dispersion(double index, double nodes) {
  return index <= 1 ? 0 : (index - 1) / (index - 1 + nodes);
}

namespace {

/// Mean correlation of all pairs of columns over the given rows: of standardised columns z the variance of their sum is
/// m + m (m - 1) times it. Columns that do not vary among these rows are left out; nothing with under two others.
class MeanCorrelation {
 public:
  explicit MeanCorrelation(const std::vector<std::vector<double>>& rows)
      : rows_(rows), mean_(rows.front().size()), scale_(rows.front().size()) {}

  std::optional<double> over(std::span<const std::size_t> picked) {
    const auto n = static_cast<double>(picked.size());
    std::ranges::fill(mean_, 0);
    for (const std::size_t row : picked) {
      for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += rows_[row][j];
    }
    for (double& mean : mean_) mean /= n;
    std::ranges::fill(scale_, 0);
    for (const std::size_t row : picked) {
      for (std::size_t j = 0; j < mean_.size(); ++j) {
        scale_[j] += (rows_[row][j] - mean_[j]) * (rows_[row][j] - mean_[j]);
      }
    }
    varying_ = 0;
    for (std::size_t j = 0; j < mean_.size(); ++j) {
      const bool varies = scale_[j] > 1e-24 * n * mean_[j] * mean_[j];  // more than rounding makes
      varying_ += varies ? 1 : 0;
      scale_[j] = varies ? 1 / std::sqrt(scale_[j]) : 0;
    }
    if (varying_ < 2) return std::nullopt;
    double squares = 0;
    for (const std::size_t row : picked) {
      double z = 0;
      for (std::size_t j = 0; j < mean_.size(); ++j) z += (rows_[row][j] - mean_[j]) * scale_[j];
      squares += z * z;
    }
    const auto m = static_cast<double>(varying_);
    return (squares - m) / (m * (m - 1));
  }
  [[nodiscard]] std::size_t varying() const { return varying_; }

 private:
  const std::vector<std::vector<double>>& rows_;
  std::vector<double> mean_;
  std::vector<double> scale_;
  std::size_t varying_ = 0;
};

Result<void> check_rows(const std::vector<std::vector<double>>& rows) {
  if (rows.size() < least_windows) {
    return failure(fmt::format("{} windows; correlation wants at least {}", rows.size(), least_windows));
  }
  for (const auto& row : rows) {
    if (row.size() != rows.front().size()) {
      return failure(fmt::format("one window has counts of {} nodes, another of {}", rows.front().size(), row.size()));
    }
    const auto bad = std::ranges::find_if_not(row, [](double value) { return std::isfinite(value); });
    if (bad != row.end()) return failure(fmt::format("a count is {}; allowed: finite numbers", *bad));
  }
  return {};
}

}  // namespace

Result<Correlation> pairwise_correlation(const std::vector<std::vector<double>>& rows, Random& random) {
  if (auto sound = check_rows(rows); !sound) return tl::unexpected(sound.error());
  std::vector<std::size_t> picked(rows.size());
  std::iota(picked.begin(), picked.end(), std::size_t{0});
  MeanCorrelation mean(rows);
  const auto found = mean.over(picked);
  if (!found) {
    return failure(fmt::format("{} nodes whose counts vary; correlation wants at least 2", mean.varying()));
  }
  Correlation result{*found, {}, mean.varying(), rows.size()};
  constexpr int resamples = 400;
  std::vector<double> drawn;
  for (int i = 0; i < resamples; ++i) {
    for (std::size_t& row : picked) row = static_cast<std::size_t>(random.below(rows.size()));
    if (const auto value = mean.over(picked)) drawn.push_back(*value);
  }
  std::ranges::sort(drawn);
  const double beyond = 100 * (1 - usual_confidence) / 2;
  result.interval = {percentile(drawn, beyond), percentile(drawn, 100 - beyond)};
  return result;
}

}  // namespace evenkeel::maths
