#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::peers {

/// What one box serves under a role, so that two boxes lend each other capacity only where the answers are the same.
/// Empty, or nothing: not known.
struct Fingerprint {
  std::string served_id;
  std::optional<std::int64_t> max_model_len;
  std::string runtime;  ///< as canonical_runtime() has it
  std::string quantization;
  // These change speed or form, not which model answers: shown, never a reason to stay apart.
  std::string kv_cache_dtype;
  std::string reasoning_parser;
  std::string tool_parser;
  std::string speculative_config;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

/// "llama.cpp" and "llama-cpp" as "llamacpp", all in small letters: what engines say of themselves differs in spelling.
[[nodiscard]] std::string canonical_runtime(std::string_view owned_by);

struct Compatibility {
  bool compatible = false;
  std::string reason;  ///< if not: which field, and the two values, or on which side it is not known
};

/// Whether a peer may serve what is asked of us: served id, window, runtime and quantization must be known on both
/// sides and equal.
[[nodiscard]] Compatibility compare(const Fingerprint& ours, const Fingerprint& theirs);

/// Whether a field that must match is known on both sides and differs: something else is served now. What is not known
/// is no evidence of a change.
[[nodiscard]] bool definitely_changed(const Fingerprint& before, const Fingerprint& now);

}  // namespace evenkeel::peers
