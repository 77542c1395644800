#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "redline/capacity_lease.hpp"
#include "redline/footprint.hpp"
#include "redline/heavy.hpp"

namespace evenkeel::redline {

/// What a worker's KV memory must stay under.
enum class Line : std::uint8_t {
  growth,     ///< what its residents may still grow to, by their ages and the law of answers; and a small reserve
  published,  ///< one fixed share of its capacity is kept free, whatever is resident; for comparison
};
/// What becomes of a heavy request that arrives while the fleet is frozen.
enum class WhenFrozen : std::uint8_t {
  meter,  ///< placed at once if the fleet's reserve stays whole all the same, else refused
  close,  ///< refused; for comparison: while demand lasts, the fleet then freezes and is released in turns
};

struct Options {
  bool on = false;
  Line line = Line::growth;
  double level = 0.9999;  ///< probability with which a worker's residents stay within its memory, (0.5, 1)
  /// By how much headroom falls with an admission, where the line is published; and what the receipt tells.
  FootprintReading footprint = FootprintReading::window_mean;
  double reserve = 0.05;  ///< H_fleet: share of the fleet's KV memory, [0, 1); `evenkeel plan reserve` says how much
  double band = 0.05;     ///< beyond which the fleet is released again, one mean footprint a worker added, [0, 1)
  double silo = 0.10;     ///< share of its KV memory that a worker keeps which is not heard of, [0, 1)
  std::int64_t prefill_tokens = 65536;  ///< prompt tokens to be computed that a worker may owe; >= 1
  std::int64_t unknown_output = 1024;   ///< an answer's length while nothing is learned and nothing bounds it; >= 1
  double share = 1;                     ///< this router's of each worker's memory, (0, 1]
  Duration lease = std::chrono::seconds(10);
  WhenCutOff when_cut_off = WhenCutOff::admit;
  WhenFrozen when_frozen = WhenFrozen::meter;
  HeavyClassifier::Options heavy;
};

}  // namespace evenkeel::redline
