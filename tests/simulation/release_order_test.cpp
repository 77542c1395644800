#include "simulation/release_order.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::simulation {
namespace {

// Against the definition: how many later releases started in an earlier step.
TEST(ReleaseOrder, OvertakesAreLaterReleasesThatStartedInAnEarlierStep) {
  Random random(5);
  ReleaseOrder order;
  std::vector<std::int64_t> started_in;  // by release; 0: waits
  for (std::int64_t step = 1; step < 400; ++step) {
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      ASSERT_EQ(order.release(), started_in.size());
      started_in.push_back(0);
    }
    std::vector<std::uint64_t> now;
    for (std::uint64_t each = 0; each < started_in.size(); ++each) {
      if (started_in[each] != 0) continue;
      const auto later = std::count_if(started_in.begin() + static_cast<std::ptrdiff_t>(each), started_in.end(),
                                       [](std::int64_t when) { return when != 0; });
      ASSERT_EQ(order.overtakes(each), later) << "release " << each << " in step " << step;
      if (random.below(5) == 0) now.push_back(each);
    }
    for (const std::uint64_t each : now) started_in[each] = step;
    order.start(now);
    ASSERT_EQ(order.waiting(), static_cast<std::size_t>(std::count(started_in.begin(), started_in.end(), 0)));
  }
}

}  // namespace
}  // namespace evenkeel::simulation
