#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "planning/fleet_fit.hpp"
#include "workload/read_trace.hpp"

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// The flags that say which requests a fleet is fitted from, and what they do not tell.
struct FitSource {
  workload::TraceSpec spec;
  std::string model;  ///< only requests of this model; empty: all
  double token_ms = 0;
  planning::FitOptions options;

  /// All but --from, --nodes, --scale-time and --seed, which the commands have for themselves; with what the flags
  /// need.
  void add_to(CLI::App& command, const std::string& needs);

  struct Read {
    planning::FleetFit fit;
    std::string format;
    std::vector<std::string> notes;  ///< what was left out or assumed in reading
  };
  /// Errors name the flag, or file, line and field.
  [[nodiscard]] Result<Read> read() const;
};

}  // namespace evenkeel::cli
