#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "fleet/view.hpp"
#include "forecast/by_model.hpp"

namespace evenkeel::routing {

/// When running requests are foretold to leave, for a projection (arXiv 2605.06113, refresh of BR-H). Forecasts are
/// made at the steps that are multiples of `refresh`, for the age of that step, and hold until the next: j steps
/// later they reach horizon - j steps ahead, each is j smaller, and
///
///  - one that has run out while its request goes on says nothing: the request stays,
///  - a request that came since has none: it stays,
///  - one that says the whole horizon stays: it tells no end within it.
///
/// Where nobody counts steps (FleetView::step is 0) every look is a refresh. Plans for different models, whose workers
/// may step apart, each have a period of their own.
class Departures {
 public:
  /// 1 <= refresh <= horizon; with the horizon 0 nothing is foretold and there need be no forecast.
  Departures(std::shared_ptr<forecast::ByModel> forecast, std::int64_t horizon, std::int64_t refresh);

  /// Before the questions of one plan. At the first of a period it tells the forecast what runs.
  void look(const fleet::FleetView& fleet, Time now);
  /// How many steps ahead the forecasts reach.
  [[nodiscard]] std::int64_t window() const { return horizon_ - since_; }
  /// First offset at which the request is gone, from 1 on; more than window(): it stays.
  [[nodiscard]] std::int64_t leaves_at(const fleet::RunningView& request);
  void ended(const fleet::LeaseSummary& summary, Time now);
  /// Null with the horizon 0.
  [[nodiscard]] forecast::ByModel* forecasts() const { return forecast_.get(); }

 private:
  struct Remembered {
    RequestId id;
    std::int64_t period = -1;
    double remaining = 0;
  };

  /// What was foretold since a refresh.
  struct Period {
    std::int64_t number = -1;  ///< of the refresh in force; -1: none yet, or every look is one
    // A forecast may cost microseconds: each is asked for once a period. Open addressing, a power of two; entries of
    // older periods count as free.
    std::vector<Remembered> memory = std::vector<Remembered>(256);
    std::size_t remembered = 0;

    [[nodiscard]] Remembered& place_of(RequestId id);
    void grow();
  };

  [[nodiscard]] double remaining(const fleet::RunningView& request);

  std::shared_ptr<forecast::ByModel> forecast_;
  std::int64_t horizon_;
  std::int64_t refresh_;
  std::int64_t since_ = 0;  ///< steps since the refresh in force
  std::map<ModelId, Period> periods_;
  Period* period_ = nullptr;  ///< of the model of the last look
};

}  // namespace evenkeel::routing
