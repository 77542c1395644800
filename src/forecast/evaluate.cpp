#include "forecast/evaluate.hpp"

#include <fmt/format.h>

#include "forecast/learned_model.hpp"

namespace evenkeel::forecast {

namespace {

class Examiner final : public TimelineObserver {
 public:
  Examiner(std::span<const PastRequest> requests, std::span<const std::shared_ptr<Forecast>> forecasts,
           const EvaluationOptions& options)
      : requests_(requests),
        forecasts_(forecasts),
        horizon_(options.horizon),
        split_(time_of_split(requests, options.share)),
        sums_(forecasts.size(), MeasureSums(options.horizon)) {}

  void running(const fleet::FleetView& fleet, Time now) override {
    for (const auto& forecast : forecasts_) forecast->running(fleet, now);
  }
  void finished(const fleet::LeaseSummary& summary, Time now) override {
    for (const auto& forecast : forecasts_) forecast->finished(summary, now);
  }
  void asked(std::size_t index, const fleet::RunningView& request, std::int64_t output, Time /*now*/) override {
    if (Time(requests_[index].arrival) < split_) return;
    for (std::size_t i = 0; i < forecasts_.size(); ++i) {
      sums_[i].add({1 - forecasts_[i]->survival(request, horizon_), forecasts_[i]->remaining(request, horizon_),
                    output - request.generated});
    }
  }
  [[nodiscard]] std::vector<Measures> measures() const {
    std::vector<Measures> out;
    for (const MeasureSums& sums : sums_) out.push_back(sums.measures());
    return out;
  }

 private:
  std::span<const PastRequest> requests_;
  std::span<const std::shared_ptr<Forecast>> forecasts_;
  std::int64_t horizon_;
  Time split_;
  std::vector<MeasureSums> sums_;
};

}  // namespace

std::string fault_of(const EvaluationOptions& options) {
  if (options.horizon < 1 || options.horizon > longest_horizon) {
    return fmt::format("horizon is {}; allowed: 1 to {} tokens", options.horizon, longest_horizon);
  }
  if (!(options.share >= 0 && options.share <= 0.95)) {
    return fmt::format("split is {}; allowed: 0 to 0.95", options.share);
  }
  return fault_of(options.timeline);
}

std::vector<Measures> evaluate(std::span<const PastRequest> requests,
                               std::span<const std::shared_ptr<Forecast>> forecasts, const EvaluationOptions& options) {
  Examiner examiner(requests, forecasts, options);
  run_timeline(requests, options.timeline, examiner);
  return examiner.measures();
}

}  // namespace evenkeel::forecast
