#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "forecast/forecast.hpp"
#include "forecast/survival_curve.hpp"

namespace evenkeel::forecast {

/// One law of output lengths for all requests (the Survival predictor of arXiv 2605.06113), kept online by
/// SurvivalCurve. Only requests that completed have ended; the others were broken off at the age they had.
///
/// Cost: a question about 4 ns, no allocation. finished() about 0.6 us, most of it for a rebuild of the tables once in
/// 64 ends (more often while the history is young). running() is free but for once in as many ends, when it sorts what
/// is in service.
class Survival final : public Forecast {
 public:
  static constexpr double default_half_life = 4000;  ///< ended requests

  explicit Survival(double half_life = default_half_life) : curve_(half_life) {}

  [[nodiscard]] std::string_view name() const override { return "survival"; }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    return remaining_at(request.generated, horizon);
  }
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t tokens) const override {
    return survival_at(request.generated, tokens);
  }
  void finished(const fleet::LeaseSummary& summary, Time now) override;
  void running(const fleet::FleetView& fleet, Time now) override;

  /// The same for an age alone; a negative one counts as 0, a horizon under 1 as 1.
  [[nodiscard]] double remaining_at(std::int64_t age, std::int64_t horizon) const;
  [[nodiscard]] double survival_at(std::int64_t age, std::int64_t tokens) const;

 private:
  /// A request in service and the age up to which the curve has been told of it.
  struct Told {
    std::uint64_t request = 0;
    std::int64_t age = 0;
  };
  [[nodiscard]] std::int64_t told(RequestId request) const;
  [[nodiscard]] std::uint64_t period() const;

  SurvivalCurve curve_;
  std::vector<Told> told_;  ///< by request
  std::vector<Told> next_;
  bool watched_ = false;  ///< running() was called before
  std::uint64_t ends_ = 0;
  std::uint64_t ends_at_look_ = 0;
  std::uint64_t ends_at_rebuild_ = 0;
};

}  // namespace evenkeel::forecast
