#pragma once

#include <chrono>
#include <cstdint>

namespace evenkeel {

using Duration = std::chrono::nanoseconds;

/// The tag of our monotonic time axis. It has no now(): whoever needs the time is handed a Clock.
struct TimeAxis {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<TimeAxis, Duration>;
  static constexpr bool is_steady = true;
};

/// An instant on the axis of the Clock that gave it; only differences have a meaning.
using Time = TimeAxis::time_point;

[[nodiscard]] constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
[[nodiscard]] constexpr double to_millis(Duration d) { return static_cast<double>(d.count()) * 1e-6; }
/// Rounds to the nearest nanosecond.
[[nodiscard]] constexpr Duration from_seconds(double s) {
  return Duration(static_cast<std::int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5)));
}
[[nodiscard]] constexpr Duration from_millis(double ms) { return from_seconds(ms * 1e-3); }

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;
};

/// Virtual time: moves only when told. For tests and simulation.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  void advance(Duration by) { now_ += by; }
  void set(Time to) { now_ = to; }

 private:
  Time now_{};
};

/// The machine's monotonic clock. Only rooms that own an event loop or a process may construct one.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
};

}  // namespace evenkeel
