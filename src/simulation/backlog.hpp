#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "simulation/setting.hpp"

namespace evenkeel::simulation {

/// Holds what waits to its bound. Arrivals that do not look at what waits (Poisson, a trace) may come faster than the
/// fleet serves; then the queue grows for as long as the run lasts, and its waits say how long that was.
class Backlog {
 public:
  /// `setting` must outlive it.
  explicit Backlog(const Setting& setting) : setting_(setting) {}

  /// So many wait at `now`, so many were released and have ended in all. The error, once more wait than may, tells the
  /// rates at which requests came and ended since half as many waited.
  [[nodiscard]] Result<void> check(Time now, std::size_t waiting, std::uint64_t released, std::uint64_t ended);

 private:
  struct Mark {
    Time at;
    std::uint64_t released = 0;
    std::uint64_t ended = 0;
  };
  const Setting& setting_;
  std::optional<Mark> half_;
};

}  // namespace evenkeel::simulation
