#include "simulation/study.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace evenkeel::simulation {

namespace {

/// The lines of one cap as one batch, so that its runs keep all threads busy.
Result<void> run_lines_of_cap(int cap, CaseResult& result, const BatchOptions& batch) {
  std::vector<routing::PolicySpec> policies;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < result.what.lines.size(); ++i) {
    if (result.what.lines[i].overtake_cap != cap) continue;
    auto spec = routing::PolicySpec::parse(result.what.lines[i].policy);
    if (!spec) return tl::unexpected(spec.error());
    policies.push_back(*std::move(spec));
    places.push_back(i);
  }
  Setting setting = result.setting;
  setting.overtake_cap = cap;
  auto summaries = run_all(setting, policies, batch);
  if (!summaries) return tl::unexpected(summaries.error());
  for (std::size_t k = 0; k < places.size(); ++k) result.lines[places[k]] = std::move((*summaries)[k]);
  return {};
}

Result<CaseResult> run_case(const StudyCase& one, const StudyRun& run, const BatchOptions& batch) {
  CaseResult result;
  result.what = one;
  result.what.options.steps = steps_of(one, run);
  auto parsed = parse_setting(result.what.options, run.first_seed);
  if (!parsed) return tl::unexpected(parsed.error());
  result.setting = std::move(parsed->setting);
  result.notes = std::move(parsed->notes);
  result.lines.resize(one.lines.size());
  std::set<int> caps;
  for (const StudyLine& line : one.lines) caps.insert(line.overtake_cap);
  for (const int cap : caps) {
    if (auto ok = run_lines_of_cap(cap, result, batch); !ok) return tl::unexpected(ok.error());
  }
  return result;
}

}  // namespace

std::string StudyLine::label() const {
  return overtake_cap > 0 ? fmt::format("{}, cap {}", policy, overtake_cap) : policy;
}

const Summary* CaseResult::find(std::string_view policy, int overtake_cap) const {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (what.lines[i].policy == policy && what.lines[i].overtake_cap == overtake_cap) return &lines[i];
  }
  return nullptr;
}

std::int64_t steps_of(const StudyCase& one, const StudyRun& run) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(run.steps) * one.length));
}

std::uint64_t total_steps(const Study& study, const StudyRun& run) {
  std::uint64_t total = 0;
  for (const StudyCase& one : study.cases) {
    const auto outputs = TokenLaw::parse("outputs", one.options.outputs, one.options.max_output);
    const std::int64_t warm_up = outputs ? std::llround(3 * outputs->mean()) : 0;
    total += static_cast<std::uint64_t>(steps_of(one, run) + warm_up) * one.lines.size() * run.seeds;
  }
  return total;
}

Result<StudyResults> run_study(const Study& study, const StudyRun& run) {
  if (run.steps < 1 || run.steps > 1'000'000'000) {
    return failure(fmt::format("steps is {}: allowed are 1 to 1000000000", run.steps));
  }
  std::uint64_t before = 0;  // steps of the batches that are done
  std::uint64_t latest = 0;
  BatchOptions batch;
  batch.seeds = run.seeds;
  batch.first_seed = run.first_seed;
  batch.jobs = run.jobs;
  batch.progress = [&](std::uint64_t steps) {
    if (steps < latest) before += latest;  // a new batch counts from 0
    latest = steps;
    if (run.progress) run.progress(before + steps);
  };
  StudyResults results;
  for (const StudyCase& one : study.cases) {
    auto result = run_case(one, run, batch);
    if (!result) return failure(fmt::format("{}, {}: {}", study.name, one.label, result.error().message));
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace evenkeel::simulation
