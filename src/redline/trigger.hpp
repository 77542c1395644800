#pragma once

#include <cstdint>

namespace evenkeel::redline {

/// Sums over the workers of one compatibility group, of one resource, corrected for age and debits.
struct FleetHeadroom {
  double raw = 0;     ///< sum of headroom
  double usable = 0;  ///< sum of max(0, headroom - floor): where single workers have room above their own floor
  /// Adds one worker; one not heard of for longer than it is believed counts as nothing, with headroom 0.
  void add(double headroom, double floor) {
    raw += headroom;
    if (headroom > floor) usable += headroom - floor;
  }
  /// Share of the sum that no admission can use.
  [[nodiscard]] double stranded() const { return raw > 0 ? 1 - usable / raw : 0; }
};

/// Aggregate trigger: the fleet freezes when what is left is less than the reserve, and is released when it is more
/// than reserve and band. It is a sum: neither a minimum nor a vote; one worker under its own line is no matter of the
/// fleet.
///
/// published: freeze if raw < reserve. That never happens while each worker's floor is above reserve / N, and nothing
/// is freed then. Corrected: freeze if raw or usable < reserve, released when both exceed reserve + band.
class AggregateTrigger {
 public:
  /// `band` at least one footprint and two standard deviations of what telemetry adds.
  AggregateTrigger(double reserve, double band, bool published = false)
      : reserve_(reserve), band_(band), published_(published) {}

  /// Whether the fleet is frozen from now on.
  bool look(const FleetHeadroom& left, bool may_release = true) {
    const double least = published_ || left.raw < left.usable ? left.raw : left.usable;
    if (!frozen_ && least < reserve_) {
      frozen_ = true;
      ++freezes_;
    } else if (frozen_ && may_release && least > reserve_ + band_) {
      frozen_ = false;
      ++releases_;
    }
    return frozen_;
  }
  void resize(double reserve, double band) {
    reserve_ = reserve;
    band_ = band;
  }
  [[nodiscard]] bool frozen() const { return frozen_; }
  [[nodiscard]] double reserve() const { return reserve_; }
  [[nodiscard]] std::uint64_t freezes() const { return freezes_; }
  [[nodiscard]] std::uint64_t releases() const { return releases_; }

 private:
  double reserve_;
  double band_;
  bool published_;
  bool frozen_ = false;
  std::uint64_t freezes_ = 0;
  std::uint64_t releases_ = 0;
};

}  // namespace evenkeel::redline
