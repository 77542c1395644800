#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/simulate_peers.hpp"
#include "simulation/options.hpp"

namespace evenkeel::cli {

/// What the command line of `simulate` says.
struct SimulateFlags {
  simulation::Options options;
  std::string policies = "least_requests";
  std::int64_t seeds = 3;
  std::int64_t seed = 1;
  std::int64_t trials = 0;  ///< of an experiment with a fleet's memory; 0: its own
  std::optional<std::int64_t> jobs;
  bool timing = false;
  bool json = false;
  std::string plot;
  std::string experiment;
  std::string studies_dir = "docs/studies";
  PeersFlags peers;
};

/// Adds the flags with their bounds, and what each needs or excludes. `flags` must outlive the parsing.
void add_simulate_flags(CLI::App& command, SimulateFlags& flags);

/// A study has its settings by itself: what would be ignored beside --experiment is refused.
[[nodiscard]] Result<void> only_flags_of_experiments(const CLI::App& command);
/// The same of an experiment with a fleet's memory.
[[nodiscard]] Result<void> only_flags_of_fleet_experiments(const CLI::App& command);
/// The same of the experiment with peers.
[[nodiscard]] Result<void> only_flags_of_peers(const CLI::App& command);

}  // namespace evenkeel::cli
