#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::report {

/// Charts as one SVG text (SVG 1.1, no scripts, no outside fonts or styles): white ground also in dark
/// viewers, colours that stay apart for the colour-blind (Okabe and Ito 2008) and are told apart by dashes
/// too, title, axes with round ticks, a legend. All texts are escaped. What is not finite is left out; a
/// chart without a point says "no data".

struct Axis {
  std::string title;  ///< with its unit
  bool log = false;   ///< decades; values at or under 0 are left out
};

struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  ///< as many as x
};

struct LineChart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};
[[nodiscard]] std::string to_svg(const LineChart& chart);

/// The empirical distribution function of each sample as steps; drawn with at most 500 steps a sample.
struct Sample {
  std::string name;
  std::vector<double> values;
};
struct EcdfChart {
  std::string title;
  Axis x;
  std::vector<Sample> samples;
};
[[nodiscard]] std::string to_svg(EcdfChart chart);

/// Bars from 0 upward: one group a name, one bar a series in each group.
struct BarChart {
  std::string title;
  Axis y;  ///< log has no meaning here and is not looked at
  std::vector<std::string> groups;
  std::vector<std::string> series;
  std::vector<std::vector<double>> values;  ///< [series][group]; negative values are left out
};
[[nodiscard]] std::string to_svg(const BarChart& chart);

/// Ticks at 1, 2 or 5 times a power of ten that cover [low, high]: about `wanted` of them, first at most low,
/// last at least high (Heckbert, "Nice numbers for graph labels", Graphics Gems 1990).
[[nodiscard]] std::vector<double> nice_ticks(double low, double high, int wanted);

/// Text safe inside XML: the five characters escaped, control characters and what is not UTF-8 replaced.
[[nodiscard]] std::string escape_xml(std::string_view text);

}  // namespace evenkeel::report
