#include "workload/trace.hpp"

#include <fmt/format.h>

namespace evenkeel::workload {

NameIndex Trace::intern(std::string_view text) {
  if (text.empty()) return no_index;
  const auto [place, is_new] = index_.try_emplace(std::string(text), static_cast<NameIndex>(names_.size()));
  if (is_new) names_.emplace_back(text);
  return place->second;
}

std::string Slice::fault() const {
  if (!(from_s >= 0 && from_s <= 9e9)) {
    return fmt::format("slice field from_s is {}; allowed: 0 to 9000000000 seconds", from_s);
  }
  if (!(to_s > from_s))
    return fmt::format("slice field to_s is {}; allowed: more than where it begins ({})", to_s, from_s);
  if (prompt_from > prompt_to) {
    return fmt::format("slice field prompt_to is {}; allowed: at least prompt_from ({})", prompt_to, prompt_from);
  }
  if (output_from > output_to) {
    return fmt::format("slice field output_to is {}; allowed: at least output_from ({})", output_to, output_from);
  }
  if (max_requests == 0) return "slice field max_requests is 0; allowed: 1 or more";
  if (cap_prompt < 1) return fmt::format("slice field cap_prompt is {}; allowed: 1 or more tokens", cap_prompt);
  if (cap_output < 1) return fmt::format("slice field cap_output is {}; allowed: 1 or more tokens", cap_output);
  if (!(time_scale >= 1e-6 && time_scale <= 1e6)) {
    return fmt::format("slice field time_scale is {}; allowed: 0.000001 to 1000000", time_scale);
  }
  return {};
}

}  // namespace evenkeel::workload
