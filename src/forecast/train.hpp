#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "forecast/learned_model.hpp"
#include "forecast/timeline.hpp"
#include "forecast/xgboost.hpp"

namespace evenkeel::forecast {

struct TrainingOptions {
  std::int64_t horizon = 80;  ///< tokens
  double share = 0.5;         ///< of the requests, the first by arrival; the rest is for evaluation
  TimelineOptions timeline;
  int trees = 200;
  int depth = 3;
  double learning_rate = 0.1;
  std::uint64_t most_samples = 1'000'000;  ///< with more, every n-th is kept
};

/// Empty if all is well, else which field is wrong and what is allowed.
[[nodiscard]] std::string fault_of(const TrainingOptions& options);

/// Rows of features as they stood when they were asked, and what came true of them.
struct TrainingSamples {
  Samples within;     ///< label 1 if the request ended within the horizon
  Samples remaining;  ///< of those that did: label its remaining tokens
  std::uint64_t requests = 0;
};

/// What may be learned from at the time of the split: questions whose horizon was over by then.
[[nodiscard]] TrainingSamples training_samples(std::span<const PastRequest> requests, const TrainingOptions& options);

/// `requests` in order of arrival. Errors: too few of them, no end within the horizon or none beyond, XGBoost's own.
[[nodiscard]] Result<LearnedModel> train(std::span<const PastRequest> requests, const TrainingOptions& options);

}  // namespace evenkeel::forecast
