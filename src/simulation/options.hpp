#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "redline/options.hpp"
#include "simulation/setting.hpp"
#include "workload/read_trace.hpp"

namespace evenkeel::simulation {

/// A setting as a person writes it; docs/simulate.md says what each means.
struct Options {
  std::int64_t workers = 8;
  std::int64_t slots = 32;
  bool sync = false;
  std::string step_preset = "paper";
  std::string law;     ///< FIXED_MS:TOKEN_US in place of a preset
  std::string speeds;  ///< S1,S2,...
  std::optional<std::int64_t> kv_tokens;
  std::int64_t decode_growth = 1;
  bool prefix_cache = false;
  std::optional<std::int64_t> kv_block;  ///< 16 if not given

  std::string prompts = "lognormal:3197:0.81";
  std::string outputs = "lognormal:1185:0.9";
  std::int64_t max_prompt = default_prompt_cap;
  std::int64_t max_output = default_output_cap;
  std::string classes;        ///< N[:SPREAD]
  std::string prefixes;       ///< N:TOKENS[:HOT]
  workload::TraceSpec trace;  ///< none if its path is empty

  std::string arrivals;               ///< saturated, poisson:R, trace; empty: saturated, or poisson with a utilisation
  std::optional<double> utilisation;  ///< in place of a rate
  std::optional<double> pool;         ///< waiting requests a worker; 4 if neither this nor pool_requests is given
  std::optional<std::int64_t> pool_requests;
  std::optional<std::int64_t> max_waiting;  ///< of arrivals that are not saturated; see Backlog
  std::int64_t requests = 0;

  std::string binding = "late";
  std::string stepping = "ideal";
  std::string overtake_cap = "none";  ///< none is 0
  double prompt_weight = 0.2;
  std::string redline = "off";  ///< off, on, published
  double redline_level = redline::Options().level;
  std::int64_t stale_steps = 0;
  std::int64_t plan_window = 0;
  std::int64_t steps = 140'000;
};

struct ParsedSetting {
  Setting setting;
  std::vector<std::string> notes;  ///< what was assumed or measured, for a person
};

/// Errors name the flag, what was wrong and what is allowed. Reads the trace; with a utilisation runs the setting
/// saturated to learn its step time (see rate_at()), which `progress` hears of as BatchOptions has it.
[[nodiscard]] Result<ParsedSetting> parse_setting(const Options& options, std::uint64_t seed,
                                                  const std::function<void(std::uint64_t)>& progress = {});

/// The arrival rate at which `utilisation` of the slots are in use: U slots / (mean output * step time), the step time
/// taken from a saturated run under least_requests. `setting` must be valid.
struct Rate {
  double per_s = 0;
  double step_ms = 0;
  double mean_output = 0;
};
[[nodiscard]] Result<Rate> rate_at(double utilisation, const Setting& setting, std::uint64_t seed,
                                   const std::function<void(std::uint64_t)>& progress = {});

}  // namespace evenkeel::simulation
