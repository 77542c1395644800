// What divisions of a burst among boxes come to, against progress followed event by event and all divisions tried.
#include "simulation/peer_boxes.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulation/support/boxes.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

TEST(PeerBoxes, AMakespanIsWhatFollowingEveryEventGives) {
  const Box curved{{20, 38, 54, 60, 61}};
  for (const Box& box : {thor, spark, slow_thor, curved}) {
    for (std::int64_t n = 0; n <= 40; ++n) EXPECT_NEAR(makespan_s(box, n, 111), Fluid::alone(box, n, 111), 1e-6) << n;
  }
  EXPECT_EQ(makespan_s(Box{}, 0, 111), 0);
  EXPECT_TRUE(std::isinf(makespan_s(Box{}, 1, 111)));
}

TEST(PeerBoxes, TheBestIsTheBestOfAllDivisions) {
  for (std::int64_t n = 1; n <= 60; ++n) {
    const std::vector<Box> pair = {thor, spark};
    const Split best = best_split(pair, n, 111);
    EXPECT_NEAR(best.tokens_per_s, best_of_all_divisions(pair, n, 111), 1e-6) << n;
    EXPECT_NEAR(ceiling_of(pair, best.requests, 111), best.tokens_per_s, 1e-9) << n;
    EXPECT_EQ(best.requests[0] + best.requests[1], n);
  }
}

TEST(PeerBoxes, TheBestOfUpToFourDrawnBoxesIsTheBestOfAllDivisions) {
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    std::vector<Box> boxes;
    for (auto count = 2 + random.below(3); count > 0; --count) {
      Box& box = boxes.emplace_back();
      for (auto slots = 1 + random.below(4); slots > 0; --slots) box.tokens_per_s.push_back(5 + 95 * random.unit());
    }
    const auto n = static_cast<std::int64_t>(1 + random.below(14));
    EXPECT_NEAR(best_split(boxes, n, 50).tokens_per_s, best_of_all_divisions(boxes, n, 50), 1e-6) << i;
  }
}

TEST(PeerBoxes, BoxesAreReadAndWhatIsWrongIsNamed) {
  const auto boxes = parse_boxes(" 18.18, 50.71; -; 49.24,87.82,90");
  ASSERT_TRUE(boxes.has_value());
  ASSERT_EQ(boxes->size(), 3U);
  EXPECT_EQ((*boxes)[0].tokens_per_s, (std::vector<double>{18.18, 50.71}));
  EXPECT_EQ((*boxes)[1].slots(), 0U);
  EXPECT_EQ((*boxes)[2].slots(), 3U);
  for (const std::string_view wrong : {"", "1,2;", "1,0;3", "1,nan", "1,-2", "1,2;x,3", "1e9", "-", "-;-"}) {
    const auto refused = parse_boxes(wrong);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_NE(refused.error().message.find("--boxes"), std::string::npos) << wrong;
  }
  EXPECT_NE(parse_boxes("1,2;x,3").error().message.find("box 2"), std::string::npos);
  EXPECT_FALSE(parse_boxes("1;1;1;1;1;1;1;1;1;1").has_value()) << "ten boxes";
}

}  // namespace
}  // namespace evenkeel::simulation
