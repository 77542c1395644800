#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::routing {

/// A policy as a person writes it: `name` or `name[key=value,key=value]`.
struct PolicySpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;

  /// Errors name what cannot be read. Whether name and keys exist is for make_policy() to say.
  [[nodiscard]] static Result<PolicySpec> parse(std::string_view text);
  /// Several of them, separated by commas; commas within brackets belong to the policy.
  [[nodiscard]] static Result<std::vector<PolicySpec>> parse_list(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// Reads the parameters of one policy. Each key is asked for once; what is wrong is remembered, first come, and
/// told by finish(), which also refuses every key nobody asked for.
class Parameters {
 public:
  explicit Parameters(const PolicySpec& spec) : spec_(spec), asked_(spec.parameters.size(), false) {}

  /// Bounds are included.
  [[nodiscard]] double number(std::string_view key, double fallback, double low, double high);
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  /// on or off
  [[nodiscard]] bool flag(std::string_view key, bool fallback);
  /// One of `allowed`; a view into `allowed`.
  [[nodiscard]] std::string_view word(std::string_view key, std::string_view fallback,
                                      std::span<const std::string_view> allowed);
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view fallback);

  [[nodiscard]] Result<void> finish() const;

 private:
  [[nodiscard]] const std::string* find(std::string_view key);
  void wrong(std::string_view key, std::string_view value, std::string allowed);

  const PolicySpec& spec_;
  std::vector<bool> asked_;
  std::vector<std::string_view> keys_;
  std::string error_;
};

}  // namespace evenkeel::routing
