#include "cli/experiment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/output_file.hpp"
#include "report/progress.hpp"
#include "simulation/studies.hpp"
#include "simulation/study_page.hpp"

namespace evenkeel::cli {

namespace {

int failed(const Error& error) {
  fmt::print(stderr, "evenkeel simulate: {}\n", error.message);
  return 1;
}

}  // namespace

Result<int> run_experiment(const std::string& name, const std::string& directory, simulation::StudyRun run, bool json) {
  const auto study = simulation::find_study(name);
  if (!study) return tl::unexpected(study.error());
  if (auto ok = check_output_directory("--studies-dir", directory); !ok) return tl::unexpected(ok.error());
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  };
  const std::uint64_t total = simulation::total_steps(*study, run);
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, name, total);
  run.progress = [&](std::uint64_t steps) { bar.update(std::min(steps, total)); };
  const auto results = simulation::run_study(*study, run);
  if (!results) return failed(results.error());
  bar.finish(total);
  const auto files = simulation::write_study(directory, *study, run, *results);
  if (!files) return failed(files.error());
  if (json) {
    const std::string text = simulation::study_json(*study, run, *results, *files);
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    for (const std::string& file : *files) fmt::print("{}\n", file);
  }
  return 0;
}

}  // namespace evenkeel::cli
