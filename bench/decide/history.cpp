// CPU time of copying the history of ended requests out of the dispatcher, which its lock is held for. README.md says
// what is measured.
#include <cstdint>
#include <ctime>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "allocations.hpp"
#include "base/random.hpp"
#include "dispatch/dispatcher.hpp"

namespace evenkeel::bench {
namespace {

constexpr ModelId model{1};

std::vector<forecast::EndedRequest> a_day(std::size_t count) {
  Random random(1);
  std::vector<forecast::EndedRequest> ended(count);
  for (forecast::EndedRequest& request : ended) {
    request.prompt_key = random.next();
    request.prompt_tokens = static_cast<std::int32_t>(random.lognormal(3197, 0.81));
    request.output_tokens = 1 + static_cast<std::int32_t>(random.lognormal(1185, 0.9));
    request.completed = true;
  }
  return ended;
}

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// `cold`: everything else was touched since the last copy, as in the two minutes between two saves.
void copy_history(benchmark::State& state, bool cold) {
  std::vector<std::uint64_t> everything_else(cold ? (64U << 20U) / sizeof(std::uint64_t) : 0);
  const ManualClock clock;
  dispatch::Dispatcher dispatcher({}, std::move(*routing::make_policy("brh")), clock, 1);
  // More than is kept, so that its oldest stands somewhere in the middle.
  dispatcher.recall(model, a_day(forecast::history_length * 3 / 2));
  std::vector<forecast::EndedRequest> to(forecast::history_length);
  std::uint64_t allocated = 0;
  for (const auto& iteration : state) {
    static_cast<void>(iteration);
    for (std::uint64_t& each : everything_else) ++each;
    const std::uint64_t before = allocations();
    const double begin = cpu_s();
    dispatcher.copy_history(model, to);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    state.SetIterationTime(cpu_s() - begin);
    allocated += allocations() - before;
  }
  state.counters["requests"] = static_cast<double>(to.size());
  state.counters["allocations"] = static_cast<double>(allocated);
}
BENCHMARK_CAPTURE(copy_history, warm, false)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(copy_history, cold, true)->UseManualTime()->Iterations(200)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace evenkeel::bench

BENCHMARK_MAIN();
