#pragma once

// What the pages of several studies are made of.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/study.hpp"

namespace evenkeel::simulation {

/// A mean and its standard error.
struct Estimate {
  double value = 0;
  double error = 0;
  [[nodiscard]] bool over(double errors) const { return value > errors * error; }
};
/// value ±error with so many decimals, in units of `unit`; no error if it is 0.
[[nodiscard]] std::string text_of(const Estimate& estimate, int decimals, double unit = 1);
[[nodiscard]] Estimate estimate(const Summary& summary, double Metrics::*metric);
/// a - b over the same seeds.
[[nodiscard]] Estimate paired_difference(const Summary& a, const Summary& b, double Metrics::*metric);
[[nodiscard]] Estimate ratio(const Summary& a, const Summary& b, double Metrics::*metric);

/// A row a line: imbalance, waits in multiples of the first line's, speed, slots, what was served.
[[nodiscard]] std::string comparison_table(const CaseResult& result);
/// The heading of a case, its comparison table, and the commands that make the same runs.
[[nodiscard]] std::string comparison_section(const CaseResult& result);
[[nodiscard]] std::string comparison_sections(const StudyResults& results);
/// As a code block of shell: one command for each overtaking cap.
[[nodiscard]] std::string commands(const CaseResult& result);

/// A group a case, a bar a line that is in pictures.
[[nodiscard]] std::string imbalance_bars(const StudyResults& results);
/// Output tokens a second over the first line's, in percent; nothing is drawn for a loss.
[[nodiscard]] std::string throughput_bars(const StudyResults& results);
/// A line for each that is in pictures, over `x` by case.
[[nodiscard]] std::string lines_chart(const StudyResults& results, std::string title, std::string x_title,
                                      const std::vector<double>& x, std::string y_title, double Metrics::*metric,
                                      double unit, bool log_y);

/// A Markdown list of what is not empty.
[[nodiscard]] std::string bullets(std::initializer_list<std::string> sentences);

[[nodiscard]] bool knows_outputs(const StudyLine& line);
/// balance against the best in imbalance of the other policies that have no oracle; of each case a clause.
[[nodiscard]] std::string balance_against_rivals(const StudyResults& results);
/// The largest waits of balance in multiples of the first line's, its throughput and what it served.
[[nodiscard]] std::string balance_price(const StudyResults& results);

}  // namespace evenkeel::simulation
