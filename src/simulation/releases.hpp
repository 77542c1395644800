#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "simulation/requests.hpp"

namespace evenkeel::simulation {

/// A run holds about a kilobyte for each request that waits.
inline constexpr std::size_t default_most_waiting = 100'000;

/// When requests come.
struct Arrivals {
  enum class Kind : std::uint8_t {
    saturated,  ///< as many as keep `pool` of them waiting
    poisson,    ///< at `rate_per_s`
    trace,      ///< as the trace says, dependent requests included; at `rate_per_s` on average if that is not 0
  };
  Kind kind = Kind::saturated;
  std::size_t pool = 32;
  double rate_per_s = 0;
  std::uint64_t requests = 0;  ///< how many in all; 0: no end, and of Kind::trace all that the trace has
  std::size_t most_waiting = default_most_waiting;  ///< of poisson and trace: more end the run, see Backlog
};

/// The requests of one run as they become ready, in order of readiness.
class Releases {
 public:
  struct Item {
    Request request;
    Time ready;
    std::uint32_t place = workload::no_index;  ///< in the trace, of Kind::trace; else none
  };

  /// `lengths` must outlive it; Kind::trace needs one with a trace.
  Releases(const Lengths& lengths, const Arrivals& arrivals, std::uint64_t seed);

  /// The next that is ready by `now` while so many wait.
  [[nodiscard]] std::optional<Item> take(Time now, std::size_t waiting);
  /// When the next is ready; nothing if that depends on what waits or runs, or if there is none.
  [[nodiscard]] std::optional<Time> next() const;
  /// Whether all there are have been taken.
  [[nodiscard]] bool exhausted() const { return total_ > 0 && released_ >= total_; }
  /// The request of that place has ended: what depends on it follows after its think time.
  void ended(std::uint32_t place, Time now);

 private:
  void load_trace();
  [[nodiscard]] Time scaled(Duration arrival) const;

  const Lengths& lengths_;
  const Arrivals arrivals_;
  RequestSequence sequence_;
  Random gaps_;
  std::uint64_t total_ = 0;  ///< 0: no end
  std::uint64_t released_ = 0;
  double next_s_ = 0;  ///< of Kind::poisson
  using Due = std::pair<Time, std::uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  ///< of Kind::trace
  std::vector<std::uint32_t> first_after_;                          ///< by place: the first that depends on it
  std::vector<std::uint32_t> next_after_;                           ///< by place: the next that depends on the same
  double trace_seconds_per_s_ = 1;
};

}  // namespace evenkeel::simulation
