// A token costs no allocation once every request of a batch runs. Counted by replacing operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/support/driving.hpp"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

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
  const std::int64_t before = allocations;
  while (counter.tokens < tokens) engine->advance(*engine->next_event(), counter);
  return allocations - before;
}

TEST(SteadyState, ATokenCostsNoAllocation) {
  EngineConfig config;
  config.kv_capacity = Tokens(10'000'000);
  const std::int64_t before = allocations;
  static_cast<void>(std::make_unique<int>(1));
  ASSERT_GT(allocations, before) << "the counter does not count";
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
  config.ranks = 4;
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
  config.ranks = 1;
  config.law = RateLaw{{10, 30, 100}};
  EXPECT_EQ(allocations_while_decoding(config, 100'000), 0);
}

}  // namespace
}  // namespace evenkeel::engine
