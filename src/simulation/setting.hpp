#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "engine/config.hpp"
#include "fleet/view.hpp"
#include "redline/options.hpp"
#include "simulation/releases.hpp"
#include "simulation/requests.hpp"

namespace evenkeel::simulation {

/// When a request gets its worker: once that has a slot open, or on release (and then it queues at the engine).
enum class Binding : std::uint8_t { late, early };

/// How decisions stand to steps: as the papers have it, once between two steps with nothing in between; or as the
/// router in service makes them, see Run.
enum class Stepping : std::uint8_t { ideal, live };

/// All of a simulated fleet and its workload but policy and seed.
struct Setting {
  std::size_t workers = 8;      ///< 1 to 1024
  bool sync = false;            ///< the workers share each step, as the ranks of one group
  engine::EngineConfig engine;  ///< of one worker, with a StepLaw; its ranks and rank_speeds are not looked at
  std::vector<double> speeds;   ///< by worker, each in [0.001, 1000]; those not named: 1
  Lengths lengths;
  Arrivals arrivals;
  Binding binding = Binding::late;
  Stepping stepping = Stepping::ideal;
  int overtake_cap = 0;  ///< as of DispatcherOptions; 0 = none but the policy's own
  std::int64_t stale_steps =
      0;                       ///< loads are shown to the policy as they were so many steps ago, 0 to 10,000; sync only
  double prompt_weight = 0.2;  ///< as of DispatcherOptions, (0, 100]
  redline::Options redline;    ///< as of DispatcherOptions
  std::size_t plan_window = 0;  ///< waiting requests that one plan looks at; 0: the pool when saturated, at least 128
  /// Steps measured, after a warm-up of three mean outputs of steps since the last empty slot first filled (or, if that
  /// does not happen within three mean outputs, since then). 0: from the first step until all that is released has
  /// ended.
  std::int64_t steps = 140'000;
  std::size_t trajectory_points = 0;  ///< of the workers' loads over the steps measured, for a picture; 0: none

  [[nodiscard]] double speed(std::size_t worker) const { return worker < speeds.size() ? speeds[worker] : 1.0; }
  [[nodiscard]] bool equal_speeds() const;
  /// Of a worker, as its engine has it for requests that decode.
  [[nodiscard]] fleet::StepTime step_time(std::size_t worker) const;
  [[nodiscard]] fleet::StepTime step_time_of_speed_1() const;
  [[nodiscard]] std::int64_t slots_total() const { return engine.slots * static_cast<std::int64_t>(workers); }
};

/// The first field that is out of bounds or contradicts another, with what is allowed.
[[nodiscard]] Result<void> validate(const Setting& setting);

}  // namespace evenkeel::simulation
