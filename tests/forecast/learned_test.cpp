// The learned forecast over trees of one leaf, whose answers are known, and the features it looks at.
#include "forecast/learned.hpp"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/allocations.hpp"
#include "forecast/support/lives.hpp"

namespace evenkeel::forecast {
namespace {

using namespace testing;

/// Says the same p and mu of every request.
std::shared_ptr<const LearnedModel> constant(double p, double mean, std::int64_t horizon = 80) {
  LearnedModel model{horizon, 1, 1, {}, {}};
  model.within = BoostedTrees(BoostedTrees::Link::logistic, static_cast<float>(std::log(p / (1 - p))));
  model.remaining = BoostedTrees(BoostedTrees::Link::identity, static_cast<float>(mean));
  return std::make_shared<const LearnedModel>(std::move(model));
}

void end_some(Forecast& forecast, std::int64_t output, int count) {
  for (int i = 0; i < count; ++i) forecast.finished(ended(static_cast<std::uint64_t>(i), output), Time{});
}

TEST(Learned, LeavesTheFirstAnswersToSurvival) {
  Learned forecast(constant(0.5, 10));
  EXPECT_EQ(forecast.remaining(in_service(1, 0), 80), 80);
  end_some(forecast, 60, 31);
  EXPECT_NEAR(forecast.remaining(in_service(1, 0), 80), 60, 1e-9);
  end_some(forecast, 60, 1);
  EXPECT_NEAR(forecast.remaining(in_service(1, 0), 80), 0.5 * 80 + 0.5 * 10, 1e-4);
}

TEST(Learned, ComposesAtItsHorizonAsThePaperDoes) {
  for (const double p : {0.05, 0.4, 0.9}) {
    for (const double mean : {3.0, 40.0, 75.0}) {
      Learned forecast(constant(p, mean));
      end_some(forecast, 1000, 40);
      const auto request = in_service(1, 7);
      EXPECT_NEAR(forecast.remaining(request, 80), (1 - p) * 80 + p * mean, 1e-3);
      EXPECT_NEAR(forecast.survival(request, 80), 1 - p, 1e-6);
    }
  }
}

TEST(Learned, IsOneLawAtAllHorizons) {
  Learned forecast(constant(0.4, 25));
  end_some(forecast, 300, 40);
  const auto request = in_service(1, 100);
  double sum = 0, before = 1;
  for (std::int64_t t = 0; t < 400; ++t) {
    const double now = forecast.survival(request, t);
    ASSERT_LE(now, before + 1e-12) << t;
    ASSERT_GE(now, 0);
    before = now;
    sum += now;
    ASSERT_NEAR(forecast.remaining(request, t + 1), sum, 0.4 + 1e-9) << t;
  }
  // Beyond the horizon as survival: of those at age 180 all end at 300.
  EXPECT_NEAR(forecast.survival(request, 199), 0.6, 1e-6);
  EXPECT_NEAR(forecast.survival(request, 200), 0, 1e-6);
}

TEST(Learned, BoundsWhatTheTreesSay) {
  for (const double mean : {-50.0, 0.0, 80.0, 500.0}) {
    Learned forecast(constant(0.5, mean));
    end_some(forecast, 1000, 40);
    for (const std::int64_t horizon : {1, 40, 80, 200}) {
      const double c = forecast.remaining(in_service(1, 0), horizon);
      EXPECT_GE(c, 0);
      EXPECT_LE(c, static_cast<double>(horizon));
    }
  }
}

TEST(Learned, AsksAgainWhenTheRequestOrTheTrafficChanged) {
  // One split on age at 50 and one on the mean of recent outputs at 500.
  LearnedModel model{80, 1, 1, {}, {}};
  model.within = BoostedTrees(BoostedTrees::Link::logistic, 0);
  const BoostedTrees::Node low{-1, 0, 0, false}, high{1, 0, 0, false};
  ASSERT_TRUE(model.within.add_tree(std::vector<BoostedTrees::Node>{{50, 1, 1, false}, low, high}, 17));
  ASSERT_TRUE(model.within.add_tree(std::vector<BoostedTrees::Node>{{500, 1, 10, false}, low, high}, 17));
  model.remaining = BoostedTrees(BoostedTrees::Link::identity, 40);
  Learned forecast(std::make_shared<const LearnedModel>(std::move(model)));
  end_some(forecast, 100, 40);
  const auto said = [&](std::int64_t age) { return 1 - forecast.survival(in_service(5, age), 80); };
  EXPECT_NEAR(said(49), 1 / (1 + std::exp(2.0)), 1e-6);
  EXPECT_NEAR(said(50), 0.5, 1e-6);
  EXPECT_NEAR(said(49), 1 / (1 + std::exp(2.0)), 1e-6);
  end_some(forecast, 2000, 40);
  EXPECT_NEAR(said(49), 0.5, 1e-6);
  EXPECT_NEAR(said(50), 1 / (1 + std::exp(-2.0)), 1e-6);
}

TEST(Learned, AnswersWithoutAllocating) {
  Learned forecast(constant(0.4, 25));
  end_some(forecast, 300, 100);
  const std::uint64_t before = allocations();
  double sum = 0;
  for (std::uint64_t id = 0; id < 5000; ++id) sum += forecast.remaining(in_service(id, 3), 80);
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(sum, 0);
}

TEST(Features, AreTheFiguresOfTheLast256ThatCompleted) {
  Features features;
  Random random(1);
  std::vector<double> prompts, outputs;
  double ewma = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto prompt = static_cast<std::int64_t>(random.below(5000));
    const auto output = static_cast<std::int64_t>(1 + random.below(900));
    features.finished(ended(i, output, 0, prompt));
    features.finished(ended(i, 5, 0, 1, fleet::Outcome::cancelled));
    prompts.push_back(static_cast<double>(prompt));
    outputs.push_back(static_cast<double>(output));
    const double weight = std::max(1 - std::pow(2.0, -1 / 16.0), 1.0 / static_cast<double>(i + 1));
    ewma += weight * (static_cast<double>(output) - ewma);
  }
  const auto figures = [](std::vector<double> values) {
    values.erase(values.begin(), values.end() - 256);
    std::sort(values.begin(), values.end());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 256;
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    return std::array{mean, std::sqrt(squares / 256), values[26], values[64], values[128], values[191], values[230]};
  };
  const FeatureRow row = features.row(in_service(1, 77, 0, 4321));
  EXPECT_EQ(row[0], 4321);
  EXPECT_EQ(row[1], 77);
  EXPECT_NEAR(row[2], ewma, 1e-2);
  const auto in = figures(prompts);
  EXPECT_NEAR(row[5], in[0], 1e-2);
  EXPECT_NEAR(row[6], in[1], 1e-2);
  EXPECT_EQ(row[7], in[2]);
  EXPECT_EQ(row[8], in[4]);
  EXPECT_EQ(row[9], in[6]);
  const auto out = figures(outputs);
  EXPECT_NEAR(row[10], out[0], 1e-2);
  EXPECT_NEAR(row[11], out[1], 1e-2);
  EXPECT_EQ(row[12], out[2]);
  EXPECT_EQ(row[13], out[3]);
  EXPECT_EQ(row[14], out[4]);
  EXPECT_EQ(row[15], out[5]);
  EXPECT_EQ(row[16], out[6]);
}

}  // namespace
}  // namespace evenkeel::forecast
