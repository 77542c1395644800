#pragma once

#include <span>
#include <string_view>

#include "simulation/study.hpp"

namespace evenkeel::simulation {

[[nodiscard]] std::span<const std::string_view> study_names();
/// Errors name the nearest and all there are.
[[nodiscard]] Result<Study> find_study(std::string_view name);

/// Every policy at four sizes of worker: imbalance, waits, speed.
[[nodiscard]] Study balance_table_study();
/// The same at four sizes of group.
[[nodiscard]] Study scaling_study();
/// The constants of brh and the depth of the waiting pool.
[[nodiscard]] Study sensitivity_study();
/// First come first served and br0 against what is proved of them.
[[nodiscard]] Study theory_study();
/// Who waits how long, by prompt size.
[[nodiscard]] Study fairness_study();
/// One worker a fifth slower than the others.
[[nodiscard]] Study heterogeneous_study();
/// Loads that are some steps old.
[[nodiscard]] Study staleness_study();
/// Prompts that come again and again.
[[nodiscard]] Study recurrence_study();
/// Poisson arrivals that leave slots free.
[[nodiscard]] Study utilisation_study();

}  // namespace evenkeel::simulation
