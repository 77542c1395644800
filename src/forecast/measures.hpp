#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace evenkeel::forecast {

/// One question about a request in service and what came true of it; r are its remaining tokens.
struct Verdict {
  double within = 0;       ///< forecast P(r <= horizon)
  double remaining = 0;    ///< forecast c = E[min(r, horizon)]
  std::int64_t truth = 0;  ///< r
};

/// The questions whose forecast of P(r <= horizon) lies in one tenth of [0, 1].
struct CalibrationBin {
  std::uint64_t count = 0;
  double forecast = 0;   ///< mean; 0 while empty
  double came_true = 0;  ///< share with r <= horizon
};

/// What a forecast was worth (the measures of arXiv 2605.06113, and c's).
struct Measures {
  std::uint64_t questions = 0;
  std::uint64_t positives = 0;  ///< r <= horizon
  /// P(a positive is given more than a negative), ties half; none without positives or without negatives
  std::optional<double> auc;
  std::optional<double> mu_error;  ///< mean |E[r | r <= horizon] - r| of positives, tokens; none without positives
  double c_error = 0;              ///< mean |c - min(r, horizon)|, tokens
  double brier = 0;                ///< mean (P - 1{r <= horizon})^2
  double base_brier = 0;           ///< of always saying the share of positives
  std::array<CalibrationBin, 10> bins;
};

/// Questions are added one by one; 4 bytes are kept of each, for the AUC.
class MeasureSums {
 public:
  explicit MeasureSums(std::int64_t horizon) : horizon_(horizon) {}
  /// E[r | r <= horizon] follows from c = (1 - p) horizon + p mu; with p = 0 it is taken as the horizon.
  void add(const Verdict& verdict);
  /// Cost O(n log n).
  [[nodiscard]] Measures measures() const;

 private:
  std::int64_t horizon_;
  std::vector<float> given_to_positives_;
  std::vector<float> given_to_negatives_;
  double mu_errors_ = 0;
  double c_errors_ = 0;
  double squares_ = 0;
  std::array<CalibrationBin, 10> sums_;
};

/// The share of pairs in which the positive is given more, ties half (Mann and Whitney); none if there is no pair.
/// Sorts its own copies.
[[nodiscard]] std::optional<double> area_under_curve(std::vector<float> positives, std::vector<float> negatives);

}  // namespace evenkeel::forecast
