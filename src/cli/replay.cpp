#include "cli/replay.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/descriptors.hpp"
#include "cli/output_file.hpp"
#include "load/replay.hpp"
#include "load/replay_json.hpp"
#include "load/replay_svg.hpp"
#include "load/replay_table.hpp"
#include "report/progress.hpp"
#include "workload/read_trace.hpp"

namespace evenkeel::cli {

namespace {

/// What the command line says, before it is checked.
struct Flags {
  load::ReplayOptions options;
  workload::TraceSpec spec;
  bool synthetic = false;
  std::string arrivals, prompt, output;
  std::string endpoint = "chat";
  std::string max_tokens = "loose";
  double timeout_s = 600;
  std::vector<std::string> headers;
  std::string api_key_env;
  std::string boxes;
  bool json = false;
  std::string svg;
};

Result<void> parse_laws(Flags& flags) {
  if (!flags.arrivals.empty()) {
    auto law = workload::ArrivalLaw::parse(flags.arrivals);
    if (!law) return failure("--arrivals: " + law.error().message);
    flags.spec.arrivals = *law;
  }
  const auto lengths = [](const char* option, const std::string& text,
                          std::optional<workload::LengthLaw>& into) -> Result<void> {
    if (text.empty()) return {};
    auto law = workload::LengthLaw::parse(text);
    if (!law) return failure(fmt::format("{}: {}", option, law.error().message));
    into = *law;
    return {};
  };
  if (auto parsed = lengths("--prompt", flags.prompt, flags.spec.prompt); !parsed) return parsed;
  return lengths("--output", flags.output, flags.spec.output);
}

Result<void> parse_headers(Flags& flags) {
  for (const auto& line : flags.headers) {
    const auto colon = line.find(':');
    if (colon == std::string::npos)
      return failure(fmt::format("--header \"{}\" is not of the form \"Name: value\"", line));
    flags.options.headers.emplace_back(line.substr(0, colon), trim(std::string_view(line).substr(colon + 1)));
  }
  if (flags.api_key_env.empty()) return {};
  const char* const key = std::getenv(flags.api_key_env.c_str());
  if (key == nullptr || *key == 0)
    return failure(fmt::format("--api-key-env: the environment has no {}", flags.api_key_env));
  flags.options.headers.emplace_back("Authorization", fmt::format("Bearer {}", key));
  return {};
}

Result<void> complete(Flags& flags) {
  if (flags.synthetic) {
    if (!flags.spec.format.empty() && flags.spec.format != "synthetic")
      return failure("--synthetic and --format contradict: one of them is allowed");
    flags.spec.format = "synthetic";
  }
  flags.spec.seed = flags.options.seed;
  flags.options.api = flags.endpoint == "chat" ? load::Api::chat : load::Api::completions;
  flags.options.output_bound = flags.max_tokens == "absent"  ? load::OutputBound::absent
                               : flags.max_tokens == "loose" ? load::OutputBound::loose
                                                             : load::OutputBound::exact;
  if (!(flags.timeout_s > 0 && flags.timeout_s <= 86400)) {
    return failure(fmt::format("--timeout is {} s; allowed: 0.001 to 86400 s", flags.timeout_s));
  }
  flags.options.timeout = from_seconds(flags.timeout_s);
  if (auto parsed = parse_laws(flags); !parsed) return parsed;
  if (auto parsed = parse_headers(flags); !parsed) return parsed;
  if (!flags.boxes.empty()) {
    auto boxes = load::parse_known_boxes(flags.boxes);
    if (!boxes) return tl::unexpected(boxes.error());
    flags.options.boxes = std::move(*boxes);
  }
  if (auto fault = load::fault_of(flags.options); !fault.empty()) return failure("--" + fault);
  if (!flags.svg.empty()) return check_output_file("--svg", flags.svg);
  return {};
}

/// The trace reader speaks of its fields; here they are flags.
Error named_by_flags(Error error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 13> flags = {
      {{"option rate", "--rate"},
       {"option session_rate", "--session-rate"},
       {"option arrivals", "--arrivals"},
       {"option prompt", "--prompt"},
       {"option output", "--output"},
       {"slice field from_s", "--from"},
       {"slice field to_s", "--to"},
       {"slice field max_requests", "--max-requests"},
       {"slice field cap_prompt", "--prompt-cap"},
       {"slice field cap_output", "--output-cap"},
       {"slice field time_scale", "--time-scale"},
       {"the synthetic workload", "--synthetic"},
       {"a synthetic workload", "--synthetic"}}};
  return {in_flags(std::move(error.message), flags)};
}

Result<load::ReplayReport> run(const Flags& flags, const workload::Trace& trace) {
  const SteadyClock clock;
  const auto to_stderr = [](std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  };
  report::Progress bar(clock, to_stderr, isatty(STDERR_FILENO) != 0, "replay", trace.requests.size());
  std::uint64_t ended = 0;
  std::string detail;
  const auto tell = [&](const load::ReplayProgress& at) {
    ended = at.ended;
    detail = fmt::format("{} in flight", at.in_flight);
    if (at.held > 0) detail += fmt::format(", {} held", at.held);
    if (at.failed > 0) detail += fmt::format(", {} failed", at.failed);
    bar.update(ended, detail);
  };
  auto result = load::run_replay(flags.options, trace, tell);
  if (result) bar.finish(ended, detail);
  return result;
}

Result<int> replay(Flags& flags) {
  if (auto ready = complete(flags); !ready) return tl::unexpected(ready.error());
  const auto trace = workload::read_trace(flags.spec);
  if (!trace) return tl::unexpected(named_by_flags(trace.error()));
  raise_descriptor_limit();
  const auto report = run(flags, *trace);
  if (!report) return tl::unexpected(report.error());
  const std::string text = flags.json ? load::to_json(*report) : load::result_table(*report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!flags.svg.empty()) {
    const std::string chart = load::comparison_svg({&*report, 1});
    if (auto written = write_output_file("--svg", flags.svg, chart); !written) {
      fmt::print(stderr, "evenkeel replay: {}\n", written.error().message);
      return 1;
    }
  }
  const bool unfit = !flags.options.boxes.empty() && !report->boxes;
  return report->failed() > 0 || unfit ? 1 : 0;
}

std::string formats_help() {
  std::string out = "Trace formats (told from the first line unless --format names one):\n";
  for (const auto& format : workload::trace_formats())
    fmt::format_to(std::back_inserter(out), "  {:18}{}\n", format.name, format.summary);
  return out;
}

void add_trace_flags(CLI::App& command, Flags& flags) {
  auto& spec = flags.spec;
  auto& slice = spec.slice;
  constexpr auto group = "Trace";
  auto* const file = command.add_option("--trace", spec.path, "file (plain or .gz), or folder of tables");
  auto* const synthetic =
      command.add_flag("--synthetic", flags.synthetic, "draw the load: wants --rate, --prompt, --output and --to");
  file->excludes(synthetic)->group(group);
  synthetic->group(group);
  command.add_option("--format", spec.format, "name of the trace's format")->group(group);
  command.add_option("--rate", spec.rate, "requests a second, for formats that take it")->group(group);
  command.add_option("--session-rate", spec.session_rate, "conversations that start, a second")->group(group);
  command.add_option("--arrivals", flags.arrivals, "poisson or gamma:CV")->group(group);
  command.add_option("--prompt", flags.prompt, "prompt tokens: fixed:N, uniform:A:B or lognormal:MEAN:CV[:CAP]")
      ->group(group);
  command.add_option("--output", flags.output, "output tokens, as --prompt")->group(group);
  command.add_option("--time-scale", slice.time_scale, "2 replays twice as fast, think times too")
      ->group(group)
      ->capture_default_str();
  command.add_option("--from", slice.from_s, "seconds into the trace")->group(group);
  command.add_option("--to", slice.to_s, "seconds into the trace")->group(group);
  command.add_option("--max-requests", slice.max_requests, "the first so many")->group(group);
  command.add_option("--prompt-cap", slice.cap_prompt, "cuts longer prompts")->group(group);
  command.add_option("--output-cap", slice.cap_output, "cuts longer outputs")->group(group);
}

void add_request_flags(CLI::App& command, Flags& flags) {
  auto& options = flags.options;
  constexpr auto group = "Requests";
  command.add_option("--url", options.url, "the server, http://host:port[/base] without /v1")->required()->group(group);
  command.add_option("--model", options.model, "default: the trace's if served, else the first that /v1/models lists")
      ->group(group);
  command.add_option("--endpoint", flags.endpoint, "which of the two APIs")
      ->check(CLI::IsMember({"chat", "completions"}))
      ->group(group)
      ->capture_default_str();
  command.add_flag("--stream,!--no-stream", options.stream, "stream the answers (default)")->group(group);
  command
      .add_option("--max-tokens", flags.max_tokens,
                  "loose: one large bound for all; exact tells the router what no client knows")
      ->check(CLI::IsMember({"absent", "loose", "exact"}))
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--loose-bound", options.loose_bound, "tokens; 0: the power of two over the trace's longest output")
      ->group(group);
  command.add_flag("--ignore-eos", options.ignore_eos, "with --max-tokens exact: no earlier end (vLLM, SGLang)")
      ->group(group);
  command.add_option("--concurrency", options.concurrency, "most requests in flight; 0: no cap")
      ->group(group)
      ->capture_default_str();
  command.add_option("--timeout", flags.timeout_s, "seconds from a request's sending to its end")
      ->group(group)
      ->capture_default_str();
  command.add_option("--header", flags.headers, "\"Name: value\", with every request; repeatable")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--api-key-env", flags.api_key_env, "environment variable whose value is sent as bearer token")
      ->group(group);
  command.add_option("--seed", options.seed, "of prompts and of what is drawn")->group(group)->capture_default_str();
}

void add_report_flags(CLI::App& command, Flags& flags) {
  constexpr auto group = "Report";
  command
      .add_option("--slo-ttft-ms", flags.options.slo_ttft_ms, "goodput counts answers whose first token came by then")
      ->group(group);
  command.add_option("--slo-tpot-ms", flags.options.slo_tpot_ms, "and whose tokens came that fast")->group(group);
  command
      .add_option(
          "--boxes", flags.boxes,
          "[NAME=]RATE,RATE,...;...: tokens a second of each worker with 1, 2, ... requests running, by name or in "
          "the order of names (default: measured in the run)")
      ->group(group);
  command.add_option("--label", flags.options.label, "name of the run in table and chart")->group(group);
  command.add_flag("--json", flags.json, "one JSON object on stdout instead of tables")->group(group);
  command.add_option("--svg", flags.svg, "writes a chart of TTFT and the workers' shares")->group(group);
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto* const command =
      app.add_subcommand("replay", "send the load of a trace to an OpenAI-compatible server and measure");
  const auto flags = std::make_shared<Flags>();
  add_request_flags(*command, *flags);
  add_trace_flags(*command, *flags);
  add_report_flags(*command, *flags);
  command->footer(formats_help() +
                  "\nExit codes: 0 every request completed, 1 some failed, the chart could not be written or --boxes "
                  "does not fit, 2 usage.");
  command->callback([flags, &exit_code] {
    const auto code = replay(*flags);
    if (!code) fmt::print(stderr, "evenkeel replay: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
