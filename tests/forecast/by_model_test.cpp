// A forecast a model, and the history that teaches it again after a restart.
#include "forecast/by_model.hpp"

#include <gtest/gtest.h>

#include "forecast/exact_match.hpp"
#include "forecast/support/lives.hpp"
#include "forecast/support/service.hpp"
#include "forecast/survival.hpp"

namespace evenkeel::forecast {
namespace {

using namespace testing;

ForecastMaker survival() { return *forecast_maker("survival"); }

fleet::LeaseSummary ended_of(ModelId model, std::uint64_t id, std::int64_t output, std::uint64_t key = 0) {
  auto summary = ended(id, output, key);
  summary.model = model;
  return summary;
}

fleet::RunningView running_of(ModelId model, std::uint64_t id, std::int64_t age, std::uint64_t key = 0) {
  auto view = in_service(id, age, key);
  view.model = model;
  return view;
}

TEST(ByModel, OneModelsLengthsTeachNothingAboutAnothers) {
  ByModel both(survival(), {});
  Survival of_short, of_long;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    both.finished(ended_of(ModelId{1}, 2 * i, 100), Time{});
    of_short.finished(ended(2 * i, 100), Time{});
    both.finished(ended_of(ModelId{2}, 2 * i + 1, 1000), Time{});
    of_long.finished(ended(2 * i + 1, 1000), Time{});
  }
  for (const std::int64_t age : {0, 30, 99, 400, 990}) {
    EXPECT_EQ(both.remaining(running_of(ModelId{1}, 9, age), 80), of_short.remaining_at(age, 80)) << age;
    EXPECT_EQ(both.remaining(running_of(ModelId{2}, 9, age), 80), of_long.remaining_at(age, 80)) << age;
    EXPECT_EQ(both.survival(running_of(ModelId{2}, 9, age), 40), of_long.survival_at(age, 40)) << age;
  }
  EXPECT_EQ(both.remaining(running_of(ModelId{3}, 9, 50), 80), 80) << "nothing is known of a model not met";
  EXPECT_EQ(both.survival(running_of(ModelId{3}, 9, 50), 80), 1);
}

TEST(ByModel, TellsTheForecastOfThePlannedModelItsOwnRequestsAlone) {
  ByModel both(survival(), {});
  Survival alone;
  // Three of model 1 and two of model 2 on one worker; none has ended but one, early: what is in service counts.
  const std::vector<fleet::RunningView> own = {running_of(ModelId{1}, 1, 300), running_of(ModelId{1}, 4, 200),
                                               running_of(ModelId{1}, 5, 100)};
  std::vector<fleet::RunningView> all = own;
  all.insert(all.begin() + 1, {running_of(ModelId{2}, 2, 50), running_of(ModelId{2}, 3, 60)});
  look(both, {}, ModelId{1});
  look(alone, {});
  both.finished(ended_of(ModelId{1}, 7, 90), Time{});
  alone.finished(ended(7, 90), Time{});
  look(both, all, ModelId{1});
  look(alone, own);
  EXPECT_LT(alone.survival_at(0, 95), 1);
  for (const std::int64_t tokens : {50, 95, 250}) {
    EXPECT_EQ(both.survival(running_of(ModelId{1}, 9, 0), tokens), alone.survival_at(0, tokens)) << tokens;
  }
}

TEST(ByModel, TaughtByItsHistoryAForecastSaysTheSame) {
  for (const std::string_view kind : {"survival", "exact_match"}) {
    ByModel before(*forecast_maker(kind), {});
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      auto summary = ended_of(ModelId{3}, i, 20 + static_cast<std::int64_t>(mix64(i) % 700), 1 + i % 7);
      if (i % 11 == 0) summary.outcome = fleet::Outcome::cancelled;
      before.finished(summary, Time{});
    }
    std::vector<EndedRequest> history;
    before.copy_history(ModelId{3}, history);
    ASSERT_EQ(history.size(), 5000U);
    ByModel after(*forecast_maker(kind), {});
    after.recall(ModelId{8}, history);  // ids change between starts
    for (std::uint64_t key = 0; key < 8; ++key) {
      for (const std::int64_t age : {0, 100, 500}) {
        EXPECT_EQ(after.remaining(running_of(ModelId{8}, 1, age, key), 80),
                  before.remaining(running_of(ModelId{3}, 1, age, key), 80));
      }
    }
    std::vector<EndedRequest> again;
    after.copy_history(ModelId{8}, again);
    EXPECT_EQ(again, history);
  }
}

TEST(ByModel, FollowsALawThatHasChangedWhileItWasAway) {
  ByModel forecast(survival(), {.guard_tokens = 40});
  std::vector<EndedRequest> old(history_length, EndedRequest{0, 100, 600, true});
  forecast.recall(ModelId{1}, old);
  const auto fresh = running_of(ModelId{1}, 1, 0);
  EXPECT_GT(forecast.survival(fresh, 300), 0.99);
  Service service(
      64, [](std::uint64_t id) { return 100 + static_cast<std::int64_t>(mix64(id) % 50); }, ModelId{1});
  service.run(forecast, 60'000);
  EXPECT_LT(forecast.survival(fresh, 300), 0.05);
  EXPECT_FALSE(forecast.statuses().at(0).guard->fallen_back);
}

TEST(ByModel, RemembersTheLastOnesInOrder) {
  ByModel forecast(survival(), {.guard_tokens = 0, .history = 100});
  std::vector<EndedRequest> history;
  for (std::uint64_t i = 1; i <= 257; ++i) {
    forecast.finished(ended_of(ModelId{}, i, static_cast<std::int64_t>(i), i), Time{});
    forecast.copy_history(ModelId{}, history);
    ASSERT_EQ(history.size(), std::min<std::size_t>(i, 100));
    for (std::size_t j = 0; j < history.size(); ++j) ASSERT_EQ(history[j].prompt_key, i + 1 - history.size() + j);
  }
  forecast.finished(ended_of(ModelId{}, 999, 0), Time{});
  forecast.copy_history(ModelId{}, history);
  EXPECT_EQ(history.back().prompt_key, 257U) << "a request without output teaches nothing";
}

TEST(ByModel, HoldsABoundedNumberOfModels) {
  ByModel forecast(survival(), {});
  for (std::uint32_t model = 0; model < 3 * most_models; ++model) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      forecast.finished(ended_of(ModelId{model}, 1 + i, model < most_models ? 100 : 30), Time{});
    }
  }
  EXPECT_EQ(forecast.statuses().size(), most_models);
  EXPECT_LT(forecast.remaining(running_of(ModelId{most_models - 1}, 1, 50), 80), 51);
  EXPECT_LE(forecast.remaining(running_of(ModelId{most_models + 5}, 1, 0), 80), 31) << "the rest share one";
  std::vector<EndedRequest> history;
  forecast.copy_history(ModelId{most_models}, history);
  EXPECT_TRUE(history.empty());
}

}  // namespace
}  // namespace evenkeel::forecast
