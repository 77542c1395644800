// The model file: what was written comes back, what was damaged is refused.
#include "forecast/learned_model.hpp"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/features.hpp"
#include "forecast/registry.hpp"

namespace evenkeel::forecast {
namespace {

BoostedTrees draw_trees(Random& random, BoostedTrees::Link link, int count) {
  BoostedTrees trees(link, static_cast<float>(random.normal(0, 1)));
  for (int t = 0; t < count; ++t) {
    std::vector<BoostedTrees::Node> nodes(7);
    for (std::uint32_t i = 0; i < 7; ++i) {
      nodes[i].value = static_cast<float>(random.normal(0, 100));
      if (i > 2) continue;
      nodes[i].left = 2 * i + 1;
      nodes[i].feature = static_cast<std::uint16_t>(random.below(feature_names.size()));
      nodes[i].missing_left = random.unit() < 0.5;
    }
    EXPECT_TRUE(trees.add_tree(nodes, feature_names.size()));
  }
  return trees;
}

LearnedModel draw_model(std::uint64_t seed, int trees) {
  Random random(seed);
  LearnedModel model{120, 5000, 23'456, {}, {}};
  model.within = draw_trees(random, BoostedTrees::Link::logistic, trees);
  model.remaining = draw_trees(random, BoostedTrees::Link::identity, trees);
  return model;
}

/// FNV-1a of the text, written again from its definition.
std::string with_checksum(std::string body) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : body) {
    hash ^= static_cast<std::uint8_t>(c);
    hash *= 1099511628211U;
  }
  return body + fmt::format("checksum {:016x}\n", hash);
}

std::string body_of(const std::string& text) { return text.substr(0, text.rfind("checksum ")); }

TEST(LearnedModel, ComesBackToTheBit) {
  const LearnedModel model = draw_model(1, 50);
  const auto back = parse_learned_model(to_text(model));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->horizon, 120);
  EXPECT_EQ(back->requests, 5000U);
  EXPECT_EQ(back->samples, 23'456U);
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    FeatureRow row{};
    for (float& x : row) x = static_cast<float>(random.normal(0, 150));
    ASSERT_EQ(back->within.predict(row), model.within.predict(row));
    ASSERT_EQ(back->remaining.predict(row), model.remaining.predict(row));
  }
}

TEST(LearnedModel, IsRefusedWhenAnyByteChanged) {
  const std::string text = to_text(draw_model(3, 4));
  ASSERT_EQ(text, with_checksum(body_of(text)));
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = text;
    const std::size_t at = random.below(damaged.size());
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + random.below(255)));
    ASSERT_FALSE(parse_learned_model(damaged)) << at;
    ASSERT_FALSE(parse_learned_model(text.substr(0, random.below(text.size()))));
  }
}

// The same under a checksum that is right: what then is read must still be safe to walk.
TEST(LearnedModel, SurvivesMutationsThatTheChecksumDoesNotSee) {
  const std::string body = body_of(to_text(draw_model(5, 4)));
  constexpr std::string_view alphabet = "0123456789 -.elftrx\n";
  Random random(6);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = body;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(damaged.size());
      switch (random.below(4)) {
        case 0: damaged[at] = alphabet[random.below(alphabet.size())]; break;
        case 1: damaged.erase(at, 1 + random.below(40)); break;
        case 2: damaged.insert(at, 1 + random.below(9), alphabet[random.below(alphabet.size())]); break;
        default: damaged.insert(at, damaged.substr(random.below(damaged.size()), random.below(200))); break;
      }
    }
    const auto model = parse_learned_model(with_checksum(damaged));
    if (!model) {
      ASSERT_FALSE(model.error().message.empty());
      continue;
    }
    ++accepted;
    ASSERT_GE(model->horizon, 1);
    ASSERT_LE(model->horizon, longest_horizon);
    FeatureRow row{};
    for (float& x : row) x = static_cast<float>(random.normal(0, 150));
    ASSERT_GE(model->within.predict(row), 0);
    ASSERT_FALSE(std::isnan(model->remaining.predict(row)));
  }
  EXPECT_GT(accepted, 0);
}

TEST(LearnedModel, SaysInWhichLineWhatIsWrong) {
  const std::string body = body_of(to_text(draw_model(7, 1)));
  const auto error_of = [&](std::string_view from, std::string_view to) {
    std::string changed = body;
    changed.replace(changed.find(from), from.size(), to);
    const auto model = parse_learned_model(with_checksum(changed));
    return model ? std::string("accepted") : model.error().message;
  };
  EXPECT_NE(error_of("horizon 120", "horizon 0").find("allowed"), 0U);
  EXPECT_NE(error_of("horizon 120", "horizon 0").find("N from 1 to 10000"), std::string::npos);
  EXPECT_NE(error_of("output_p90", "output_p99").find("train it again"), std::string::npos);
  EXPECT_NE(error_of("tree 7", "tree 999999999999").find("tree NODES"), std::string::npos);
  EXPECT_NE(error_of("trees within", "trees other").find("line 5"), std::string::npos);
  EXPECT_NE(error_of("evenkeel-forecast 1", "evenkeel-forecast 2").find("begin"), std::string::npos);
}

TEST(MakeForecast, ReadsALearnedModel) {
  const std::string path = ::testing::TempDir() + "evenkeel-learned-model-test";
  ASSERT_TRUE(write_learned_model(draw_model(8, 3), path));
  const auto forecast = make_forecast("learned:" + path);
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ((*forecast)->name(), "learned");
  std::ofstream(path, std::ios::app) << "more";
  const auto damaged = make_forecast("learned:" + path);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find(path), std::string::npos);
  EXPECT_NE(damaged.error().message.find("checksum"), std::string::npos) << damaged.error().message;
  std::remove(path.c_str());
  const auto missing = make_forecast("learned:" + path);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(make_forecast("learned:/"));
  for (const std::string_view nameless : {"learned", "learned:"}) {
    const auto refused = make_forecast(nameless);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("learned:FILE"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace evenkeel::forecast
