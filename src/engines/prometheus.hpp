#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::engines {

/// Pages over this are not read: an engine's page has some hundred KiB at most.
inline constexpr std::size_t max_metrics_bytes = 8U << 20U;

/// One sample line of the Prometheus text format, version 0.0.4. Views into the page.
struct Sample {
  std::string_view name;
  std::string_view labels;  ///< between the braces, as written
  std::string_view value_text;
};

/// The next sample of `page`, which shrinks by what was read; comments, blank lines and lines that are no
/// sample are passed over. Nothing at the end. Linear, no allocation.
[[nodiscard]] std::optional<Sample> next_sample(std::string_view& page);

/// The label's value with its escapes undone; nothing if there is no such label or the labels are malformed.
[[nodiscard]] std::optional<std::string> label(std::string_view labels, std::string_view name);

/// A value that can be an amount: finite, not negative, at most 2^53. Nothing for NaN, Inf, -1 and other
/// text.
[[nodiscard]] std::optional<double> amount(std::string_view value_text);

/// Adds amounts up; one that is missing makes the sum missing.
class Sum {
 public:
  void add(std::optional<double> part);
  /// Nothing if nothing was added or a part was missing.
  [[nodiscard]] std::optional<double> get() const;

 private:
  double total_ = 0;
  bool any_ = false;
  bool broken_ = false;
};

}  // namespace evenkeel::engines
