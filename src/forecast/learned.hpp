#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "forecast/features.hpp"
#include "forecast/forecast.hpp"
#include "forecast/learned_model.hpp"
#include "forecast/survival.hpp"

namespace evenkeel::forecast {

/// Gradient-boosted trees (the Learned predictor of arXiv 2605.06113), trained beforehand for one horizon T:
///   p = P(r <= T), mu = E[r | r <= T], c = (1 - p) T + p mu
/// For shorter horizons P(r <= t) = p (t / T)^k, with the k that has mean mu: k = mu / (T - mu). Beyond T those that
/// are left go on as `survival` says for their age then. remaining() integrates that law, so it is the sum of
/// survival() over the horizon to within p tokens. Until 32 requests have ended, `survival` answers.
///
/// Cost: about 2 us for the first question about a request at an age since the last end of any request; later ones
/// come from a small cache. No allocation.
class Learned final : public Forecast {
 public:
  explicit Learned(std::shared_ptr<const LearnedModel> model);

  [[nodiscard]] std::string_view name() const override { return "learned"; }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override;
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t tokens) const override;
  void finished(const fleet::LeaseSummary& summary, Time now) override;
  void running(const fleet::FleetView& fleet, Time now) override { overall_.running(fleet, now); }

 private:
  struct Answer {
    std::uint64_t request = 0;
    std::int64_t age = 0;
    std::int64_t prompt = 0;
    std::uint64_t ends = 0;  ///< when it was asked; 0: never
    double within = 0;       ///< p
    double power = 0;        ///< k
  };
  [[nodiscard]] const Answer& ask(const fleet::RunningView& request) const;

  std::shared_ptr<const LearnedModel> model_;
  Features features_;
  Survival overall_;
  mutable std::vector<Answer> answers_;  ///< by request id, the last asked in each place
};

}  // namespace evenkeel::forecast
