#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "load/box_report.hpp"

namespace evenkeel::load {

enum class Api : std::uint8_t { chat, completions };

/// What goes into max_tokens.
enum class OutputBound : std::uint8_t {
  absent,  ///< nothing
  loose,   ///< one large number, the same for every request
  exact,   ///< the trace's output length, which tells the router what no client knows
};

struct ReplayOptions {
  std::string url;    ///< http://host:port[/base], without /v1
  std::string label;  ///< names the run in tables and charts; empty: the policy its receipts tell, else the url
  /// Empty: the trace's own name where the server serves it, else the first model the server lists.
  std::string model;
  Api api = Api::chat;
  bool stream = true;
  OutputBound output_bound = OutputBound::loose;
  /// The number of `loose`; 0: the least power of two that the longest output of the trace fits into, at
  /// least 1024.
  std::int64_t loose_bound = 0;
  bool ignore_eos = false;                       ///< with `exact`: asks the engine not to stop earlier (vLLM, SGLang)
  std::size_t concurrency = 0;                   ///< most requests in flight; 0: no cap
  Duration timeout = std::chrono::seconds(600);  ///< of one request, from its sending to its end
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  std::vector<KnownBox> boxes;                               ///< the workers' rates; empty: measured in the run
  std::uint64_t seed = 1;                                    ///< of the prompts' words
  std::vector<std::pair<std::string, std::string>> headers;  ///< sent with every request
};

/// Empty if all is well, else which option is wrong and what is allowed.
[[nodiscard]] std::string fault_of(const ReplayOptions& options);

}  // namespace evenkeel::load
