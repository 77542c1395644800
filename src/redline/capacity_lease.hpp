#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"

namespace evenkeel::redline {

/// What a router does with a worker whose lease has run out: keep admitting within what it may alone (available under
/// partition), or stop (consistent under partition).
enum class WhenCutOff : std::uint8_t { admit, block };
[[nodiscard]] constexpr std::string_view to_string(WhenCutOff what) {
  return what == WhenCutOff::admit ? "admit" : "block";
}

enum class LeaseMode : std::uint8_t {
  pooled,   ///< the worker is heard of: its arrival reserve is shared by the fleet
  siloed,   ///< it is not: it keeps the whole reserve that one worker needs alone
  blocked,  ///< it is not, and nothing is admitted
};
[[nodiscard]] constexpr std::string_view to_string(LeaseMode mode) {
  return mode == LeaseMode::pooled ? "pooled" : mode == LeaseMode::siloed ? "siloed" : "blocked";
}

/// One router's lease on one worker: it holds for `lifetime` from each sign of life (an engine's report), and gives the
/// router `share` of the worker's capacity. Engines enforce no floors, so the node's part of the redline is kept here.
///
/// Two routers that reach one worker: while the shares sum to one, each keeps its own admissions within its share, and
/// their sum within the capacity, whatever either knows of the other. If they sum to S > 1, the sum of admissions is
/// over the capacity by (S - 1) of it at most. What others hold is subtracted from this router's headroom only where an
/// engine reports it, and then as old as the report: with others admitting at most r tokens a second, that estimate is
/// low by r * (age of the report) at most. No share is ever enlarged on the strength of a report.
class CapacityLease {
 public:
  /// share in (0, 1].
  CapacityLease(Duration lifetime, WhenCutOff when_cut_off, double share = 1)
      : lifetime_(lifetime), when_cut_off_(when_cut_off), share_(share) {}

  /// `settled`: after having been cut off, so long the lease is not pooled yet, so that the workers of a fleet do not
  /// all lower their floors in one instant.
  void renew(Time heard, Duration settled = Duration(0)) {
    if (!ever_ || heard - heard_ > lifetime_) pooled_from_ = heard + (ever_ ? settled : Duration(0));
    heard_ = heard;
    ever_ = true;
  }
  [[nodiscard]] LeaseMode mode(Time now) const {
    if (ever_ && now - heard_ <= lifetime_) return now >= pooled_from_ ? LeaseMode::pooled : LeaseMode::siloed;
    return when_cut_off_ == WhenCutOff::block ? LeaseMode::blocked : LeaseMode::siloed;
  }
  [[nodiscard]] double share() const { return share_; }

 private:
  Duration lifetime_;
  WhenCutOff when_cut_off_;
  double share_;
  Time heard_{};
  Time pooled_from_{};
  bool ever_ = false;
};

}  // namespace evenkeel::redline
