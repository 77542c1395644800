#include "observe/counters.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::observe {
namespace {

TEST(Cell, CountsUpAndDown) {
  Cell cell;
  cell.add();
  cell.add(41);
  cell.subtract(2);
  EXPECT_EQ(cell.get(), 40U);
}

TEST(SecondsHistogram, ABoundBelongsToItsOwnBucket) {
  // Prometheus: a bucket counts what is less than or equal to its bound.
  for (std::size_t i = 0; i < SecondsHistogram::bounds.size(); ++i) {
    SecondsHistogram histogram;
    histogram.observe(from_seconds(SecondsHistogram::bounds[i]));
    histogram.observe(from_seconds(SecondsHistogram::bounds[i]) + Duration(1));
    EXPECT_EQ(histogram.bucket(i), 1U) << i;
    EXPECT_EQ(histogram.bucket(i + 1), 1U) << i;
  }
}

TEST(SecondsHistogram, HoldsEveryValueOnceAndTheirSum) {
  SecondsHistogram histogram;
  Random random(2);
  std::vector<double> values;
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(random.lognormal(1.0, 10.0));
    sum += values.back();
    histogram.observe(from_seconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < SecondsHistogram::bounds.size(); ++i) {
    below += histogram.bucket(i);
    const auto upto = std::upper_bound(values.begin(), values.end(), SecondsHistogram::bounds[i]) - values.begin();
    EXPECT_EQ(below, static_cast<std::uint64_t>(upto)) << i;
  }
  EXPECT_EQ(below + histogram.bucket(SecondsHistogram::bounds.size()), values.size());
  EXPECT_NEAR(histogram.sum_seconds(), sum, 1e-6 * static_cast<double>(values.size()));
}

TEST(SecondsHistogram, ANegativeDurationAddsNothingToTheSum) {
  SecondsHistogram histogram;
  histogram.observe(Duration(-5'000'000'000));
  EXPECT_EQ(histogram.bucket(0), 1U);
  EXPECT_EQ(histogram.sum_seconds(), 0.0);
}

/// Reads an escaped label value as Prometheus' text parser does: \\, \" and \n, nothing else.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_NE(text[i], '\n');
    EXPECT_NE(text[i], '"') << "it would end the value";
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    ++i;
    EXPECT_TRUE(i < text.size() && (text[i] == '\\' || text[i] == '"' || text[i] == 'n')) << text;
    out += text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

TEST(LabelValue, ReadsBackEqualWhateverItHolds) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto size = random.below(12); size > 0; --size) text += "ab\\\"\n{},="[random.below(9)];
    EXPECT_EQ(unescaped(label_value(text)), text);
  }
}

TEST(Samples, AreLinesOfThePrometheusTextFormat) {
  std::string out;
  append_help(out, "a_total", "counter", "What it counts.");
  append_sample(out, "a_total", {}, 3);
  append_sample(out, "a_total", "k=\"v\"", 0.25);
  append_sample(out, "a_total", {}, 12345678901.0);
  EXPECT_EQ(out,
            "# HELP a_total What it counts.\n# TYPE a_total counter\n"
            "a_total 3\na_total{k=\"v\"} 0.25\na_total 12345678901\n");
}

}  // namespace
}  // namespace evenkeel::observe
