#pragma once

#include <algorithm>
#include <cstdint>

namespace evenkeel::redline {

/// A switch with two thresholds, so that noise narrower than the band between them does not flip it.
class SchmittTrigger {
 public:
  /// off < on.
  SchmittTrigger(double on, double off) : on_(on), off_(off) {}
  bool look(double value) {
    const bool before = high_;
    if (value >= on_) high_ = true;
    if (value <= off_) high_ = false;
    if (high_ != before) ++flips_;
    return high_;
  }
  [[nodiscard]] bool high() const { return high_; }
  [[nodiscard]] std::uint64_t flips() const { return flips_; }

 private:
  double on_;
  double off_;
  bool high_ = false;
  std::uint64_t flips_ = 0;
};

/// Whether a request, once it has begun, can be moved or repeated elsewhere.
enum class Population : std::uint8_t { immortal, movable };

enum class PopulationRule : std::uint8_t {
  none,
  symmetric,   ///< a worker full of immortals is avoided by all: it starves, and its movable part drains
  asymmetric,  ///< avoided by immortals, preferred by movable requests, which restore what could be moved
};

struct PopulationBias {
  double immortal_weight = 0.1;  ///< w_I, in headroom fractions for an immortal share of 1
  double movable_bonus = 0.02;   ///< w_C, in headroom fractions
};

/// The population of one worker: which share of its occupied memory is of requests that can never leave.
class WorkerPopulation {
 public:
  explicit WorkerPopulation(PopulationRule rule, PopulationBias bias = {}, double on = 0.6, double off = 0.3)
      : rule_(rule), bias_(bias), trigger_(on, off) {}

  /// At every arrival and departure there.
  void look(double immortal, double occupied) {
    share_ = occupied > 0 ? std::clamp(immortal / occupied, 0.0, 1.0) : 0;
    trigger_.look(share_);
  }
  /// Added to the headroom fraction by which a sampled worker is compared. `fits`: it is above its floor after the
  /// admission; no bonus lifts one that is not.
  [[nodiscard]] double bias(Population of, bool fits) const {
    if (rule_ == PopulationRule::none || !trigger_.high()) return 0;
    if (of == Population::immortal || rule_ == PopulationRule::symmetric) return -bias_.immortal_weight * share_;
    return fits ? bias_.movable_bonus : 0;
  }
  [[nodiscard]] double immortal_share() const { return share_; }
  [[nodiscard]] const SchmittTrigger& trigger() const { return trigger_; }

 private:
  PopulationRule rule_;
  PopulationBias bias_;
  SchmittTrigger trigger_;
  double share_ = 0;
};

/// Width of the band from the jump of one event: at least twice the largest share that one resident holds, and 0.15.
[[nodiscard]] inline double population_band(double largest_resident, double occupied) {
  return std::max(0.15, occupied > 0 ? 2 * largest_resident / occupied : 0.0);
}

}  // namespace evenkeel::redline
