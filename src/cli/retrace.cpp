#include "cli/retrace.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "report/numbers.hpp"
#include "report/progress.hpp"
#include "simulation/retrace.hpp"

namespace evenkeel::cli {

namespace {

struct RetraceFlags {
  std::string file;
  bool json = false;
};

std::string to_json(const simulation::Retraced& result) {
  std::string out = "{\"policy\":";
  append_json_string(out, result.policy);
  out += fmt::format(",\"starts\":{},\"turns\":{},\"placements\":{},\"refusals\":{},\"same\":{},\"difference\":",
                     result.starts, result.turns, result.placements, result.refusals, result.same);
  if (result.difference) {
    append_json_string(out, *result.difference);
  } else {
    out += "null";
  }
  return out + "}\n";
}

int retrace(const RetraceFlags& flags) {
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, "retrace", 0);
  const auto result = simulation::retrace(flags.file, [&](std::uint64_t turns) { bar.update(turns); });
  if (!result) {
    fmt::print(stderr, "evenkeel retrace: {}\n", result.error().message);
    return 2;
  }
  bar.finish(result->turns);
  if (flags.json) {
    fmt::print("{}", to_json(*result));
  } else {
    fmt::print("policy {}: {} placements and {} refusals in {} turns, {} the same\n", result->policy,
               report::grouped(static_cast<std::int64_t>(result->placements)),
               report::grouped(static_cast<std::int64_t>(result->refusals)),
               report::grouped(static_cast<std::int64_t>(result->turns)),
               result->difference ? report::grouped(static_cast<std::int64_t>(result->same)) : "all");
    if (result->difference) fmt::print("first difference: {}\n", *result->difference);
  }
  return result->difference ? 1 : 0;
}

}  // namespace

void add_retrace(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("retrace", "make the decisions of a recording again and compare (see serve --record)");
  auto flags = std::make_shared<RetraceFlags>();
  command->add_option("file", flags->file, "what `evenkeel serve --record FILE` wrote, plain or gzip")->required();
  command->add_flag("--json", flags->json, "one JSON object");
  command->footer("Exit codes: 0 the same decisions, 1 a difference, 2 usage or no recording.");
  command->callback([flags, &exit_code] { exit_code = retrace(*flags); });
}

}  // namespace evenkeel::cli
