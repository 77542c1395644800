#include "cli/retrace.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

using Starts = std::vector<simulation::RetracedStart>;

void append_text_or_null(std::string& out, const std::optional<std::string>& text) {
  if (text) {
    append_json_string(out, *text);
  } else {
    out += "null";
  }
}

std::string to_json(const Starts& starts) {
  std::string out = "{\"starts\":[";
  for (const auto& each : starts) {
    if (out.back() != '[') out += ',';
    out += "{\"policy\":";
    append_json_string(out, each.policy);
    out += fmt::format(",\"turns\":{},\"placements\":{},\"refusals\":{},\"same\":{},\"difference\":", each.turns,
                       each.placements, each.refusals, each.same);
    append_text_or_null(out, each.difference);
    out += ",\"lost\":";
    append_text_or_null(out, each.lost);
    out += '}';
  }
  return out + "]}\n";
}

std::string counted(std::uint64_t count) { return report::grouped(static_cast<std::int64_t>(count)); }

void print_lines(const Starts& starts) {
  for (const auto& each : starts) {
    fmt::print("policy {}: {} placements and {} refusals in {} turns, {} the same\n", each.policy,
               counted(each.placements), counted(each.refusals), counted(each.turns),
               each.difference ? counted(each.same) : "all");
    if (each.difference) fmt::print("  first difference: {}\n", *each.difference);
    if (each.lost) fmt::print("  lost: {}; what follows it in this start is not looked at\n", *each.lost);
  }
}

int retrace(const RetraceFlags& flags) {
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, "retrace", 0);
  std::uint64_t done = 0;
  const auto starts = simulation::retrace(flags.file, [&](std::uint64_t turns) { bar.update(done = turns); });
  if (!starts) {
    fmt::print(stderr, "evenkeel retrace: {}\n", starts.error().message);
    return 2;
  }
  bar.finish(done);
  if (flags.json) {
    fmt::print("{}", to_json(*starts));
  } else {
    print_lines(*starts);
  }
  return std::ranges::any_of(*starts, [](const auto& each) { return each.difference || each.lost; }) ? 1 : 0;
}

}  // namespace

void add_retrace(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("retrace", "make the decisions of a recording again and compare (see serve --record)");
  auto flags = std::make_shared<RetraceFlags>();
  command->add_option("file", flags->file, "what `evenkeel serve --record FILE` wrote, plain or gzip")->required();
  command->add_flag("--json", flags->json, "one JSON object");
  command->footer("Exit codes: 0 the same decisions, 1 a difference or lost lines, 2 usage or no recording.");
  command->callback([flags, &exit_code] { exit_code = retrace(*flags); });
}

}  // namespace evenkeel::cli
