#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fleet/books.hpp"
#include "fleet/view.hpp"
#include "forecast/ended_lives.hpp"

namespace evenkeel::forecast {

/// What the learned forecast looks at (arXiv 2605.06113, its features): the request's prompt and age; exponentially
/// weighted means of the outputs that were seen to end, with weight 2^-1/n for the n of the name; mean, standard
/// deviation and quantiles of the prompts and outputs of the last 256 of them. All is known when it is asked.
inline constexpr std::array<std::string_view, 17> feature_names = {
    "prompt",     "age",        "output_ewma_16", "output_ewma_128", "output_ewma_1024", "prompt_mean",
    "prompt_sd",  "prompt_p10", "prompt_p50",     "prompt_p90",      "output_mean",      "output_sd",
    "output_p10", "output_p25", "output_p50",     "output_p75",      "output_p90"};
using FeatureRow = std::array<float, feature_names.size()>;

class Features {
 public:
  static constexpr std::uint64_t least_ends = 32;  ///< before, the rolling figures say too little

  Features();
  /// Only requests that completed with output count. Cost about 2 us.
  void finished(const fleet::LeaseSummary& summary);
  [[nodiscard]] bool ready() const { return ends_ >= least_ends; }
  [[nodiscard]] std::uint64_t ends() const { return ends_; }
  [[nodiscard]] FeatureRow row(const fleet::RunningView& request) const;

 private:
  RecentLives prompts_;
  RecentLives outputs_;
  std::uint64_t ends_ = 0;
  FeatureRow common_{};  ///< with the places of prompt and age empty
};

}  // namespace evenkeel::forecast
