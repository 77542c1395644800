#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace evenkeel::cli {

/// What the command line says of `simulate --experiment peers`.
struct PeersFlags {
  std::string boxes = "18.18,50.71;49.24,87.82";
  std::int64_t burst = 8;
  std::int64_t tokens = 111;
  std::int64_t rounds = 1;
  std::string rates = "known";
  bool warm_up = false;
  std::string exchange = "books";
  std::string entry = "1";
  double gap_ms = 0;
  double spacing_ms = 0;
  double start_ms = 0;
  double probe_round_trip_ms = 0;
  double forward_delay_ms = 0;
  double gauge_lag_ms = 0;
};

inline constexpr std::string_view peers_experiment = "peers";

/// `flags` must outlive the parsing.
void add_peers_flags(CLI::App& command, PeersFlags& flags);

/// Runs the bursts under each of `policies` (late_tail if empty), with progress on stderr, and prints tables or JSON.
[[nodiscard]] Result<int> run_peers_experiment(const PeersFlags& flags, const std::string& policies, std::int64_t seed,
                                               bool json);

}  // namespace evenkeel::cli
