// CPU time of the prefix index: a look-up and an insertion, in all and a block. README.md says what is measured.
#include "affinity/prefix_index.hpp"

#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "allocations.hpp"
#include "base/random.hpp"

namespace evenkeel::bench {
namespace {

using affinity::ChainHash;
using affinity::PrefixIndex;

/// Conversations that go on: each prompt of `blocks` blocks keeps a head of an earlier one and adds blocks of its own.
/// All begin with the same four blocks.
struct Prompts {
  Prompts(std::size_t blocks, std::size_t count) : random(7) {
    std::vector<std::uint64_t> ids(blocks, 0);
    std::uint64_t next_id = 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t kept = i % 8 == 0 ? 4 : 4 + random.below(blocks - 4);
      for (std::size_t at = kept; at < blocks; ++at) ids[at] = next_id++;
      affinity::append_id_chain(ids, 1, chains.emplace_back());
    }
  }
  const std::vector<ChainHash>& any() { return chains[random.below(chains.size())]; }

  Random random;
  std::vector<std::vector<ChainHash>> chains;
};

struct Shape {
  std::size_t workers;
  std::size_t chain;
};

/// An index that is full, so that each new block makes another go.
PrefixIndex full_index(const Shape& shape, Prompts& prompts, Time& now) {
  constexpr std::size_t capacity = 16384;
  PrefixIndex index({.total_blocks = shape.workers * capacity});
  for (std::uint32_t worker = 0; worker < shape.workers; ++worker) index.set_capacity(WorkerId{worker}, capacity);
  for (std::size_t i = 0; i < shape.workers * capacity * 3 / shape.chain; ++i) {
    now += std::chrono::milliseconds(1);
    index.insert(WorkerId{static_cast<std::uint32_t>(i % shape.workers)}, prompts.any(), now);
  }
  return index;
}

void finish(benchmark::State& state, const Shape& shape, std::uint64_t allocated) {
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["allocations"] = static_cast<double>(allocated) / iterations;
  state.counters["a_block"] =
      benchmark::Counter(static_cast<double>(shape.chain) * iterations,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert, benchmark::Counter::kIs1000);
}

void look_up(benchmark::State& state, const Shape& shape) {
  Prompts prompts(shape.chain, 4096);
  Time now{};
  const PrefixIndex index = full_index(shape, prompts, now);
  std::vector<std::uint32_t> matched(shape.workers);
  const std::uint64_t before = allocations();
  for (const auto& iteration : state) {
    static_cast<void>(iteration);
    index.expected_hit(prompts.any(), matched);
    benchmark::DoNotOptimize(matched.data());
    benchmark::ClobberMemory();
  }
  finish(state, shape, allocations() - before);
}

void insert(benchmark::State& state, const Shape& shape) {
  Prompts prompts(shape.chain, 4096);
  Time now{};
  PrefixIndex index = full_index(shape, prompts, now);
  std::uint32_t worker = 0;
  const std::uint64_t before = allocations();
  for (const auto& iteration : state) {
    static_cast<void>(iteration);
    now += std::chrono::milliseconds(1);
    worker = (worker + 1) % static_cast<std::uint32_t>(shape.workers);
    index.insert(WorkerId{worker}, prompts.any(), now);
  }
  finish(state, shape, allocations() - before);
}

}  // namespace
}  // namespace evenkeel::bench

int main(int count, char** arguments) {
  using namespace evenkeel::bench;
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  for (const Shape shape : {Shape{8, 64}, Shape{8, 512}, Shape{64, 64}, Shape{64, 512}}) {
    const std::string of = fmt::format("workers={}/blocks={}", shape.workers, shape.chain);
    benchmark::RegisterBenchmark(("look_up/" + of).c_str(),
                                 [shape](benchmark::State& state) { look_up(state, shape); });
    benchmark::RegisterBenchmark(("insert/" + of).c_str(), [shape](benchmark::State& state) { insert(state, shape); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
