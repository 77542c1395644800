#include "emulator/metrics.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "emulator/gauge_history.hpp"

namespace evenkeel::emulator {
namespace {

struct Busy {
  engine::EngineConfig config;
  std::vector<engine::EngineGauges> gauges;
  std::vector<RequestTimes> times{1};

  Busy() {
    engine::EngineGauges rank;
    rank.running = 2;
    rank.waiting = 3;
    rank.kv_usage = 0.25;
    rank.prompt_tokens = Tokens(100);
    rank.generation_tokens = Tokens(40);
    rank.preemptions = 1;
    rank.finished = {4, 5, 6};
    gauges.push_back(rank);
    times[0].first_token.observe(0.25);  // on a bound: counts there
  }
  [[nodiscard]] std::string page(MetricNames names, std::string_view model = "m") const {
    return metrics_page({model, names, config, gauges, times});
  }
};

TEST(MetricsPage, HoldsEveryLineOfTheTranscript) {
  const std::string page = "\n" + Busy().page(MetricNames::current);
  std::ifstream file(std::string(EVENKEEL_SOURCE_DIR) + "/tests/wire/vllm/metrics.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << line;
  }
  EXPECT_GT(lines, 20);
}

TEST(MetricsPage, ShowsNamesOfNowOfBeforeOrBoth) {
  const auto shows = [](MetricNames names, std::string_view name) {
    return Busy().page(names).find("\n" + std::string(name) + "{") != std::string::npos;
  };
  EXPECT_TRUE(shows(MetricNames::current, "vllm:kv_cache_usage_perc"));
  EXPECT_FALSE(shows(MetricNames::current, "vllm:gpu_cache_usage_perc"));
  EXPECT_FALSE(shows(MetricNames::old, "vllm:kv_cache_usage_perc"));
  EXPECT_TRUE(shows(MetricNames::old, "vllm:gpu_cache_usage_perc"));
  EXPECT_TRUE(shows(MetricNames::both, "vllm:kv_cache_usage_perc"));
  EXPECT_TRUE(shows(MetricNames::both, "vllm:gpu_cache_usage_perc"));
}

TEST(MetricsPage, EscapesTheModelName) {
  EXPECT_NE(Busy().page(MetricNames::current, "a\"b\\c").find(R"(model_name="a\"b\\c")"), std::string::npos);
}

TEST(GaugeHistory, ShowsAnEngineAsItWas) {
  auto model = *engine::make_engine(engine::EngineConfig{.law = engine::RateLaw{{10.0}}, .slots = 1});
  struct Deaf final : engine::EngineSink {
    void on_event(const engine::EngineEvent&) override {}
  } sink;
  using std::chrono::milliseconds;
  GaugeHistory history;
  history.set_lag(milliseconds(1000), Time{}, *model);
  engine::EngineRequest request;
  request.id = 1;
  request.prompt = Tokens(1);
  request.output = Tokens(100);
  ASSERT_EQ(model->submit(Time{}, request), engine::SubmitOutcome::accepted);
  for (int ms = 0; ms <= 5000; ms += 100) {  // a token every 100 ms
    const Time now = Time{} + milliseconds(ms);
    model->advance(now, sink);
    history.note(now, *model);
  }
  EXPECT_EQ(model->gauges(0).generation_tokens, Tokens(50));
  EXPECT_EQ(history.shown(Time{} + milliseconds(5000), *model).at(0).generation_tokens, Tokens(40));
  EXPECT_EQ(history.shown(Time{} + milliseconds(5550), *model).at(0).generation_tokens, Tokens(45));
  history.set_lag(Duration::zero(), Time{} + milliseconds(5550), *model);
  EXPECT_EQ(history.shown(Time{} + milliseconds(5550), *model).at(0).generation_tokens, Tokens(50));
}

}  // namespace
}  // namespace evenkeel::emulator
