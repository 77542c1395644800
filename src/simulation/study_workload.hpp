#pragma once

// The setting that most studies share, and its policies by name.

#include "simulation/options.hpp"

namespace evenkeel::simulation {

inline constexpr const char* first_come = "least_requests";
inline constexpr const char* br0 = "br0";
inline constexpr const char* brh_survival = "brh[forecast=survival]";
inline constexpr const char* brh_oracle = "brh[forecast=oracle]";
/// The whole waiting pool and a longer view than published.
inline constexpr const char* brh_oracle_wide = "brh[forecast=oracle,window=all,gamma=0.95]";
inline constexpr const char* balance_full_slots = "balance[hold=off]";

/// Workers in step, prompts and outputs of the defaults (long-tailed, mean 3,197 and 1,185 tokens), saturated, four
/// requests a worker kept waiting.
[[nodiscard]] inline Options group_of(std::int64_t workers, std::int64_t slots) {
  Options options;
  options.workers = workers;
  options.slots = slots;
  options.sync = true;
  return options;
}

}  // namespace evenkeel::simulation
