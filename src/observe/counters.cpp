#include "observe/counters.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace evenkeel::observe {

namespace {
// In whole nanoseconds: as a double of seconds a duration that equals its bound may come out above it.
constexpr auto bounds_in_time = [] {
  std::array<Duration, SecondsHistogram::bounds.size()> times{};
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = from_seconds(SecondsHistogram::bounds[i]);
  return times;
}();
}  // namespace

void SecondsHistogram::observe(Duration duration) {
  std::size_t i = 0;
  while (i < bounds.size() && duration > bounds_in_time[i]) ++i;
  buckets_[i].add();
  sum_us_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration / std::chrono::microseconds(1))));
}

void append_sample(std::string& out, std::string_view name, std::string_view labels, double value) {
  if (labels.empty()) {
    fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
  } else {
    fmt::format_to(std::back_inserter(out), "{}{{{}}} {}\n", name, labels, value);
  }
}

void append_help(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace evenkeel::observe
