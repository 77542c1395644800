#include "load/options.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "http/address.hpp"

namespace evenkeel::load {

namespace {

std::string fault_of_slo(const char* option, const std::optional<double>& ms, bool stream) {
  if (!ms) return {};
  if (!(*ms > 0 && *ms <= 1e9)) return fmt::format("{} is {}; allowed: over 0 to 1000000000 ms", option, *ms);
  if (!stream) return fmt::format("{} has no effect without streaming: only a stream shows its first token", option);
  return {};
}

bool is_token(std::string_view name) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || marks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string fault_of_headers(const ReplayOptions& options) {
  if (options.headers.size() > 64) return fmt::format("header: {} are given; allowed: 64", options.headers.size());
  for (const auto& [name, value] : options.headers) {
    if (!is_token(name) || !is_field_value(value) || name.size() + value.size() > 16384) {
      return fmt::format("header \"{}\" is none of the form \"Name: value\" without control characters",
                         name.substr(0, 60));
    }
  }
  return {};
}

}  // namespace

std::string fault_of(const ReplayOptions& options) {
  if (const auto url = http::parse_url(options.url); !url) return "url: " + url.error().message;
  if (options.concurrency > 1'000'000) {
    return fmt::format("concurrency is {}; allowed: 0 (no cap) to 1000000", options.concurrency);
  }
  if (options.timeout < std::chrono::milliseconds(1) || options.timeout > std::chrono::hours(24)) {
    return fmt::format("timeout is {} s; allowed: 0.001 to 86400 s", to_seconds(options.timeout));
  }
  if (options.loose_bound < 0 || options.loose_bound > 1'000'000'000) {
    return fmt::format("loose-bound is {}; allowed: 0 (by the trace) to 1000000000 tokens", options.loose_bound);
  }
  if (options.loose_bound > 0 && options.output_bound != OutputBound::loose) {
    return "loose-bound has no effect unless max-tokens is loose";
  }
  if (options.ignore_eos && options.output_bound != OutputBound::exact) {
    return "ignore-eos wants max-tokens exact: every answer would run to the loose bound";
  }
  if (options.model.size() > 256) return "model has more than 256 bytes";
  for (auto fault : {fault_of_slo("slo-ttft-ms", options.slo_ttft_ms, options.stream),
                     fault_of_slo("slo-tpot-ms", options.slo_tpot_ms, options.stream), fault_of_headers(options)}) {
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace evenkeel::load
