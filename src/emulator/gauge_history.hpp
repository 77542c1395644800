#pragma once

#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "engine/model.hpp"

namespace evenkeel::emulator {

/// What an engine publishes, shown late: a scrape sees it as it was `lag` ago. Keeps at most a few hundred
/// samples, so a lag is true to about 1/256 of itself.
class GaugeHistory {
 public:
  void set_lag(Duration lag, Time now, const engine::EngineModel& model);
  /// To be called when the engine may have published. Cheap while the lag is 0.
  void note(Time now, const engine::EngineModel& model);
  [[nodiscard]] std::vector<engine::EngineGauges> shown(Time now, const engine::EngineModel& model) const;

 private:
  struct Sample {
    Time at;
    std::vector<engine::EngineGauges> ranks;
  };
  Duration lag_{};
  std::deque<Sample> samples_;  ///< oldest first; the first is the newest that is old enough
};

}  // namespace evenkeel::emulator
