// What requests at boxes come to, against every request's tokens followed one by one, and all ways to place them.
#include "fleet/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::fleet {
namespace {

/// The tokens that each running request still lacks, taken down from one event to the next.
double followed_end_s(const Box& box, std::vector<BoxRequest> requests) {
  std::vector<double> left;
  double now = 0;
  std::size_t next = 0;
  while (next < requests.size() || !left.empty()) {
    while (left.size() < box.slots() && next < requests.size() && requests[next].at_s <= now + 1e-12) {
      left.push_back(requests[next++].tokens);
    }
    double step = std::numeric_limits<double>::infinity();
    const double speed = left.empty() ? 0 : box.tokens_per_s[left.size() - 1] / static_cast<double>(left.size());
    for (const double tokens : left) step = std::min(step, tokens / speed);
    if (left.size() < box.slots() && next < requests.size()) step = std::min(step, requests[next].at_s - now);
    now += step;
    for (double& tokens : left) tokens -= step * speed;
    std::erase_if(left, [](double tokens) { return tokens < 1e-9; });
  }
  return now;
}

Box drawn_box(Random& random) {
  Box box;
  for (auto slots = 1 + random.below(4); slots > 0; --slots) box.tokens_per_s.push_back(5 + 95 * random.unit());
  return box;
}

std::vector<BoxRequest> drawn_requests(Random& random, std::size_t count) {
  std::vector<BoxRequest> requests(count);
  for (auto& request : requests) request = {5 * random.unit(), 1 + 200 * random.unit()};
  std::sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  return requests;
}

TEST(Boxes, TheLastEndIsWhatFollowingEveryRequestGives) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const Box box = drawn_box(random);
    const auto requests = drawn_requests(random, random.below(30));
    EXPECT_NEAR(last_end_s(box, requests), followed_end_s(box, requests), 1e-6) << i;
  }
  EXPECT_EQ(last_end_s(Box{}, {}), 0);
  EXPECT_TRUE(std::isinf(last_end_s(Box{}, std::vector<BoxRequest>{{0, 1}})));
}

TEST(Boxes, EqualRequestsThatComeAtOnceEndAfterTheirMakespan) {
  const Box spark{{49.24, 87.82}};
  for (std::int64_t n = 0; n < 20; ++n) {
    const std::vector<BoxRequest> requests(static_cast<std::size_t>(n), {0, 111});
    EXPECT_NEAR(last_end_s(spark, requests), makespan_s(spark, n, 111), 1e-9) << n;
  }
}

TEST(Boxes, NoPlacementOfAllEndsBeforeTheEarliestEnd) {
  Random random(4);
  double nearest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 60; ++i) {
    const std::vector<Box> boxes = {drawn_box(random), drawn_box(random)};
    const auto requests = drawn_requests(random, 1 + random.below(9));
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t placement = 0; placement < (std::size_t{1} << requests.size()); ++placement) {
      std::vector<std::vector<BoxRequest>> at(2);
      for (std::size_t k = 0; k < requests.size(); ++k) at[placement >> k & 1U].push_back(requests[k]);
      best = std::min(best, std::max(last_end_s(boxes[0], at[0]), last_end_s(boxes[1], at[1])));
    }
    const double earliest = earliest_end_s(boxes, requests);
    EXPECT_LE(earliest, best + 1e-9) << i;
    nearest = std::min(nearest, best / earliest);
  }
  EXPECT_LT(nearest, 1.1) << "it says something";
}

TEST(Boxes, OneBoxOfOneSlotIsAsBusyAsItCanBe) {
  Random random(5);
  const std::vector<Box> box = {Box{{40}}};
  for (int i = 0; i < 40; ++i) {
    const auto requests = drawn_requests(random, 1 + random.below(20));
    EXPECT_NEAR(earliest_end_s(box, requests), last_end_s(box[0], requests), 1e-9) << i;
  }
}

TEST(Boxes, ABoxIsReadAndWhatIsWrongIsNamed) {
  EXPECT_EQ(parse_box(" 18.18, 50.71")->tokens_per_s, (std::vector<double>{18.18, 50.71}));
  EXPECT_EQ(parse_box(" - ")->slots(), 0U);
  for (const std::string_view wrong : {"", "1,0", "nan", "-2", "x", "1e9", "1,,2"}) {
    EXPECT_FALSE(parse_box(wrong).has_value()) << wrong;
  }
  std::string many = "1";
  for (int i = 0; i < 1024; ++i) many += ",1";
  EXPECT_FALSE(parse_box(many).has_value());
}

}  // namespace
}  // namespace evenkeel::fleet
