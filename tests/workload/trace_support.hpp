#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "maths/percentile.hpp"
#include "workload/read_trace.hpp"

namespace evenkeel::workload {

inline std::string data_file(const std::string& name) {
  return std::string(EVENKEEL_SOURCE_DIR) + "/tests/data/" + name;
}

inline TraceSpec spec_of(const std::string& name) {
  TraceSpec spec;
  spec.path = data_file(name);
  return spec;
}

inline Trace must_read(const TraceSpec& spec) {
  auto trace = read_trace(spec);
  EXPECT_TRUE(trace.has_value()) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

/// The error of a spec that must not be readable.
inline std::string refusal(const TraceSpec& spec) {
  const auto trace = read_trace(spec);
  return trace ? "read " + std::to_string(trace->requests.size()) + " requests" : trace.error().message;
}

/// A file with the given bytes that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "evenkeel_" + test->test_suite_name() + "_" + test->name() + std::to_string(count_++);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] TraceSpec spec() const {
    TraceSpec spec;
    spec.path = path_;
    return spec;
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

struct Lengths {
  maths::Summary prompt;
  maths::Summary output;
};

inline Lengths lengths_of(const Trace& trace) {
  std::vector<double> prompt;
  std::vector<double> output;
  for (const auto& r : trace.requests) {
    prompt.push_back(r.prompt_tokens.as_double());
    output.push_back(r.output_tokens.as_double());
  }
  return {maths::summarize(prompt), maths::summarize(output)};
}

inline double gap_cv(const Trace& trace) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < trace.requests.size(); ++i) {
    gaps.push_back(to_seconds(trace.requests[i].arrival - trace.requests[i - 1].arrival));
  }
  return maths::coefficient_of_variation(gaps);
}

inline double last_arrival_s(const Trace& trace) { return to_seconds(trace.requests.back().arrival); }

}  // namespace evenkeel::workload
