// CPU time of single decisions: p50, p99, mean, and allocations. README.md says what is measured.
#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "allocations.hpp"
#include "playing_fleet.hpp"
#include "routing/policy.hpp"
#include "routing/spec.hpp"

namespace evenkeel::bench {
namespace {

/// CPU time of this thread, so that what the machine does besides does not count.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// What two readings of the clock are apart when nothing happens between them.
double cost_of_the_clock() {
  std::vector<double> apart;
  for (int i = 0; i < 10001; ++i) {
    const double begin = cpu_ns();
    apart.push_back(cpu_ns() - begin);
  }
  std::nth_element(apart.begin(), apart.begin() + 5000, apart.end());
  return apart[5000];
}

double percentile_of(std::vector<double>& values, double share) {
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

void decide(benchmark::State& state, const std::string& policy_text, const PlayingFleet::Shape& shape) {
  constexpr std::int64_t warm_up = 3 * 1185;  // steps: three mean outputs
  static const double clock_cost = cost_of_the_clock();
  auto policy = std::move(*routing::make_policy(policy_text));
  PlayingFleet fleet(shape, 1);
  Random random(2);
  std::vector<fleet::Placement> placements;
  const auto next = [&] {
    fleet.next_decision(*policy);
    placements.clear();
  };
  while (fleet.step() < warm_up) {
    next();
    policy->plan(fleet.waiting(), fleet.view(), fleet.now(), random, placements);
    fleet.apply(placements);
  }
  std::vector<double> times;
  std::uint64_t allocated = 0, placed = 0;
  times.reserve(static_cast<std::size_t>(state.max_iterations));
  for (const auto& iteration : state) {
    static_cast<void>(iteration);
    next();
    const std::uint64_t allocated_before = allocations();
    const double begin = cpu_ns();
    policy->plan(fleet.waiting(), fleet.view(), fleet.now(), random, placements);
    const double taken = std::max(0.0, cpu_ns() - begin - clock_cost);
    allocated += allocations() - allocated_before;
    placed += placements.size();
    times.push_back(taken);
    state.SetIterationTime(taken * 1e-9);
    fleet.apply(placements);
  }
  const auto decisions = static_cast<double>(times.size());
  state.counters["p50_us"] = percentile_of(times, 0.50) / 1000;
  state.counters["p99_us"] = percentile_of(times, 0.99) / 1000;
  state.counters["allocations"] = static_cast<double>(allocated) / decisions;
  state.counters["placed"] = static_cast<double>(placed) / decisions;
}

struct Case {
  PlayingFleet::Shape shape;
  std::int64_t decisions;
};
constexpr Case cases[] = {{{8, 32, 32}, 20000}, {{32, 32, 128}, 10000}, {{80, 128, 1000}, 4000}};

void add(const std::string& policy) {
  for (const Case& one : cases) {
    const std::string name =
        fmt::format("{}/G={}/B={}/pool={}", policy, one.shape.workers, one.shape.slots, one.shape.pool);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [policy, one](benchmark::State& state) { decide(state, policy, one.shape); })
        ->Iterations(one.decisions)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

/// The policies named in the arguments, else all that place several requests together.
Result<std::vector<std::string>> chosen_policies(int count, char** arguments) {
  std::vector<std::string> policies;
  for (int i = 1; i < count; ++i) {
    const auto specs = routing::PolicySpec::parse_list(arguments[i]);
    if (!specs) return tl::unexpected(specs.error());
    for (const auto& spec : *specs) policies.push_back(spec.text());
  }
  if (policies.empty()) {
    policies = {"least_tokens", "br0", "brh"};
    const auto known = routing::policy_names();
    if (std::find(known.begin(), known.end(), "balance") != known.end()) policies.emplace_back("balance");
  }
  for (const std::string& policy : policies) {
    const auto made = routing::make_policy(policy);
    if (!made) return tl::unexpected(made.error());
  }
  return policies;
}

}  // namespace
}  // namespace evenkeel::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto policies = evenkeel::bench::chosen_policies(argc, argv);
  if (!policies) {
    fmt::print(stderr, "bench_decide: {}\n", policies.error().message);
    return 2;
  }
  for (const std::string& policy : *policies) evenkeel::bench::add(policy);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
