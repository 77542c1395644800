#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "routing/open_slots.hpp"
#include "routing/policy.hpp"

namespace evenkeel::routing {

/// A plan that solves the placement exactly, a window of the pool at a time: what the exact policies have in common.
///
/// A round takes the first `window` that may still enter somewhere and admits as many of them as can enter at all,
/// which and where as the policy decides. With more slots open than the window is long, everybody in it enters and the
/// next round looks at the next window: exact within each round, not over all. With a single slot open the window is
/// the whole pool: looking at each request once is cheap.
class JointPolicy : public Policy {
 public:
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) final;

  static constexpr std::int64_t widest_window = 14;

 protected:
  struct Pick {
    std::uint32_t request = 0;  ///< position in the window
    std::uint32_t worker = 0;
  };
  struct Solution {
    std::string_view reason;
    double cost = 0;  ///< what the policy makes least, after this round
  };

  explicit JointPolicy(std::size_t window) : window_size_(window) {}

  virtual void begin(const fleet::FleetView& fleet, Time now) = 0;
  /// Appends to `picks` as many of window() as can enter open slots together.
  virtual Solution solve(std::vector<Pick>& picks) = 0;
  virtual void charge(std::uint32_t worker, std::int64_t tokens) = 0;

  [[nodiscard]] const OpenSlots& slots() const { return slots_; }
  /// Requests of this round in pool order; each may enter an open worker. With one slot open it may be long.
  [[nodiscard]] std::span<const std::uint32_t> window() const { return window_; }
  [[nodiscard]] std::int64_t size(std::uint32_t position) const { return slots_.prompt(window_[position]); }
  [[nodiscard]] bool may_enter(std::uint32_t position, std::uint32_t worker) const {
    return slots_.may_enter(window_[position], worker);
  }

 private:
  void look();

  std::size_t window_size_;
  OpenSlots slots_;
  std::vector<std::uint32_t> window_;
  std::vector<Pick> picks_;
};

}  // namespace evenkeel::routing
