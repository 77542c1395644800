// A token costs no allocation once every request of a batch runs. Counted by replacing operator new.
#include <gtest/gtest.h>

#include "engine/support/counting_new.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;

class Counter final : public EngineSink {
 public:
  std::int64_t tokens = 0;
  void on_event(const EngineEvent& event) override { tokens += event.count.value(); }
};

std::int64_t allocations_while_decoding(const EngineConfig& config, std::int64_t tokens) {
  auto engine = make(config);
  for (RequestId id = 0; id < 64; ++id) submit(*engine, 0, request(id, 20, 100'000, id % config.ranks));
  Counter counter;
  while (counter.tokens < 64 * 10) engine->advance(*engine->next_event(), counter);
  const std::int64_t before = allocations();
  while (counter.tokens < tokens) engine->advance(*engine->next_event(), counter);
  return allocations() - before;
}

TEST(SteadyState, ATokenCostsNoAllocation) {
  EngineConfig config;
  config.kv_capacity = Tokens(10'000'000);
  const std::int64_t before = allocations();
  const auto any = make(config);
  ASSERT_GT(allocations(), before) << "the counter does not count";
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
  config.ranks = 4;
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
  config.ranks = 1;
  config.law = RateLaw{{10, 30, 100}};
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
}

}  // namespace
}  // namespace evenkeel::engine
