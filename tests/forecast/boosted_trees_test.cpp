// Our walk of the trees against XGBoost's own, which is loaded here as it is for training.
#include "forecast/boosted_trees.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/allocations.hpp"
#include "forecast/xgboost.hpp"

namespace evenkeel::forecast {
namespace {

constexpr std::size_t width = 6;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Rows of mixed scales with missing values, and labels that depend on them in steps.
Samples draw(std::uint64_t seed, std::size_t count, bool logistic) {
  Random random(seed);
  Samples samples;
  samples.width = width;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<float, width> row{};
    for (std::size_t f = 0; f < width; ++f) {
      // Whole numbers, as token counts are, so that many values lie right at a threshold.
      row[f] =
          random.unit() < 0.05 ? nan : static_cast<float>(std::floor(random.lognormal(30.0, 0.5 + 0.5 * double(f))));
    }
    const double signal = (row[0] < 25 ? 2.0 : -1.0) + (row[3] > row[1] ? 1.0 : 0.0) + random.normal(0, 1);
    samples.rows.insert(samples.rows.end(), row.begin(), row.end());
    samples.labels.push_back(logistic ? (signal > 0.8 ? 1.0F : 0.0F) : static_cast<float>(40 + 20 * signal));
  }
  return samples;
}

class AgainstXgboost : public ::testing::TestWithParam<BoostedTrees::Link> {};

TEST_P(AgainstXgboost, AgreesOnTenThousandRows) {
  const bool logistic = GetParam() == BoostedTrees::Link::logistic;
  auto xgboost = Xgboost::load();
  ASSERT_TRUE(xgboost) << xgboost.error().message;
  BoostingOptions options;
  options.link = GetParam();
  const auto fitted = xgboost->fit(draw(1, 4000, logistic), options);
  ASSERT_TRUE(fitted) << fitted.error().message;
  const auto json = xgboost->json();
  ASSERT_TRUE(json) << json.error().message;
  const auto trees = trees_of_xgboost_json(*json, width);
  ASSERT_TRUE(trees) << trees.error().message;
  EXPECT_EQ(trees->trees(), 200U);

  const Samples asked = draw(2, 10'000, logistic);
  const auto theirs = xgboost->predict(asked);
  ASSERT_TRUE(theirs) << theirs.error().message;
  ASSERT_EQ(theirs->size(), 10'000U);
  double spread = 0;
  const std::uint64_t before = testing::allocations();
  for (std::size_t i = 0; i < theirs->size(); ++i) {
    const float ours = trees->predict(std::span(asked.rows).subspan(i * width, width));
    ASSERT_NEAR(ours, (*theirs)[i], 1e-6 * std::max(1.0F, std::abs(ours))) << i;
    spread = std::max<double>(spread, std::abs((*theirs)[i] - (*theirs)[0]));
  }
  EXPECT_EQ(testing::allocations(), before);
  EXPECT_GT(spread, logistic ? 0.5 : 20) << "the model says nearly the same of all rows";
}

INSTANTIATE_TEST_SUITE_P(Links, AgainstXgboost,
                         ::testing::Values(BoostedTrees::Link::logistic, BoostedTrees::Link::identity),
                         [](const auto& link) {
                           return link.param == BoostedTrees::Link::logistic ? "classifier" : "regressor";
                         });

TEST(BoostedTrees, WalksASmallTreeAsByHand) {
  // x0 < 10 ? (x1 < 2 ? 1 : 2) : 4, NaN of x0 right, of x1 left.
  const std::vector<BoostedTrees::Node> nodes = {
      {10, 1, 0, false}, {2, 3, 1, true}, {4, 0, 0, false}, {1, 0, 0, false}, {2, 0, 0, false}};
  BoostedTrees trees(BoostedTrees::Link::identity, 0.5F);
  ASSERT_TRUE(trees.add_tree(nodes, 2));
  const auto ask = [&](float x0, float x1) { return trees.predict(std::array{x0, x1}); };
  EXPECT_EQ(ask(9, 1), 1.5F);
  EXPECT_EQ(ask(9, 2), 2.5F);
  EXPECT_EQ(ask(10, 1), 4.5F);
  EXPECT_EQ(ask(nan, 1), 4.5F);
  EXPECT_EQ(ask(9, nan), 1.5F);
  ASSERT_TRUE(trees.add_tree(nodes, 2));
  EXPECT_EQ(ask(9, 1), 2.5F);
}

TEST(BoostedTrees, RefuseTreesThatCannotBeWalked) {
  BoostedTrees trees;
  const auto refused = [&](std::vector<BoostedTrees::Node> nodes) { return !trees.add_tree(nodes, 2); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{1, 1, 0, false}})) << "children beyond the end";
  EXPECT_TRUE(refused({{1, 1, 0, false}, {1, 0, 0, false}})) << "no right child";
  EXPECT_TRUE(refused({{1, 1, 0, false}, {1, 1, 0, false}, {1, 0, 0, false}})) << "its own child";
  EXPECT_TRUE(refused({{1, 1, 2, false}, {1, 0, 0, false}, {1, 0, 0, false}})) << "no such feature";
  EXPECT_TRUE(refused({{nan, 0, 0, false}}));
  EXPECT_EQ(trees.trees(), 0U);
}

TEST(XgboostJson, SaysWhichFieldIsWrong) {
  EXPECT_FALSE(trees_of_xgboost_json("", 3));
  EXPECT_FALSE(trees_of_xgboost_json("{\"learner\":", 3));
  const auto other = trees_of_xgboost_json(R"({"learner":{"objective":{"name":"rank:pairwise"}}})", 3);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("learner.objective.name"), std::string::npos) << other.error().message;
  const auto circle = trees_of_xgboost_json(
      R"({"learner":{"objective":{"name":"reg:squarederror"},"learner_model_param":{"base_score":"5E-1"},
          "gradient_booster":{"model":{"trees":[{"left_children":[1,1,-1],"right_children":[2,2,-1],
          "split_indices":[0,0,0],"split_conditions":[1,1,1],"default_left":[0,0,0]}]}}}})",
      3);
  ASSERT_FALSE(circle);
  EXPECT_NE(circle.error().message.find("circles"), std::string::npos) << circle.error().message;
}

}  // namespace
}  // namespace evenkeel::forecast
