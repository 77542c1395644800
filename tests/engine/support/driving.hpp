#pragma once

// Test tools of the engine room: a sink that keeps everything, and a driver that feeds timed requests.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/model.hpp"

namespace evenkeel::engine::testing {

[[nodiscard]] constexpr Time at_ms(double ms) { return Time(from_millis(ms)); }
[[nodiscard]] inline double ms_of(Time t) { return to_millis(t.time_since_epoch()); }

struct StepSeen {
  Time start;
  Time end;
  std::vector<RankStep> ranks;
};

class Recorder : public EngineSink {
 public:
  std::vector<EngineEvent> events;
  std::vector<StepSeen> steps;

  void on_event(const EngineEvent& event) override { events.push_back(event); }
  void on_step(const StepReport& report) override {
    steps.push_back({report.start, report.end, {report.ranks.begin(), report.ranks.end()}});
  }

  [[nodiscard]] std::vector<double> times(RequestId id, EngineEvent::Kind kind) const {
    std::vector<double> out;
    for (const auto& event : events) {
      if (event.id == id && event.kind == kind) out.push_back(ms_of(event.at));
    }
    return out;
  }
  [[nodiscard]] std::vector<double> tokens(RequestId id) const { return times(id, EngineEvent::Kind::tokens); }
  [[nodiscard]] std::vector<double> started(RequestId id) const { return times(id, EngineEvent::Kind::started); }
  [[nodiscard]] std::vector<double> finished(RequestId id) const { return times(id, EngineEvent::Kind::finished); }
  [[nodiscard]] std::vector<std::int64_t> step_tokens(std::size_t rank = 0) const {
    std::vector<std::int64_t> out;
    for (const auto& step : steps) out.push_back(step.ranks[rank].new_tokens.value());
    return out;
  }
};

[[nodiscard]] inline std::unique_ptr<EngineModel> make(const EngineConfig& config) {
  auto engine = make_engine(config);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

[[nodiscard]] inline EngineRequest request(RequestId id, std::int64_t prompt, std::int64_t output,
                                           std::size_t rank = 0) {
  return {.id = id, .prompt = Tokens(prompt), .output = Tokens(output), .rank = rank};
}

inline void submit(EngineModel& engine, double ms, const EngineRequest& what) {
  ASSERT_EQ(engine.submit(at_ms(ms), what), SubmitOutcome::accepted) << "request " << what.id;
}

inline void expect_balanced(const EngineModel& engine) {
  const auto ok = engine.check();
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
}

/// Advances from event to event until the engine is idle; checks the books after each.
inline void run_dry(EngineModel& engine, EngineSink& sink) {
  while (const auto due = engine.next_event()) {
    engine.advance(*due, sink);
    expect_balanced(engine);
  }
}

/// Everything that happened as text, for comparing two runs.
[[nodiscard]] inline std::string transcript(const Recorder& seen) {
  std::string out;
  for (const auto& e : seen.events) {
    out += fmt::format("{} {} {} {} {} {}\n", e.at.time_since_epoch().count(), static_cast<int>(e.kind), e.id,
                       e.count.value(), e.first, static_cast<int>(e.reason));
  }
  return out;
}

}  // namespace evenkeel::engine::testing
