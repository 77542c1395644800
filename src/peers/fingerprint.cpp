#include "peers/fingerprint.hpp"

#include <array>
#include <cctype>

#include <fmt/format.h>

namespace evenkeel::peers {

namespace {

struct Field {
  std::string_view name;
  std::string value;  ///< empty: not known
};

/// Those that must match.
std::array<Field, 4> decisive(const Fingerprint& of) {
  return {{{"served_id", of.served_id},
           {"max_model_len", of.max_model_len ? std::to_string(*of.max_model_len) : std::string()},
           {"runtime", of.runtime},
           {"quantization", of.quantization}}};
}

}  // namespace

std::string canonical_runtime(std::string_view owned_by) {
  std::string out;
  for (const char c : owned_by) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

Compatibility compare(const Fingerprint& ours, const Fingerprint& theirs) {
  const auto here = decisive(ours);
  const auto there = decisive(theirs);
  for (std::size_t i = 0; i < here.size(); ++i) {
    const bool known_here = !here[i].value.empty();
    if (!known_here || there[i].value.empty()) {
      return {false, fmt::format("{} is not known {}", here[i].name, known_here ? "there" : "here")};
    }
    if (here[i].value != there[i].value) {
      return {false, fmt::format("{} differs: {} here, {} there", here[i].name, here[i].value, there[i].value)};
    }
  }
  return {true, {}};
}

bool definitely_changed(const Fingerprint& before, const Fingerprint& now) {
  const auto old = decisive(before);
  const auto current = decisive(now);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!old[i].value.empty() && !current[i].value.empty() && old[i].value != current[i].value) return true;
  }
  return false;
}

}  // namespace evenkeel::peers
