#include "cli/plan_fit.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/fit_points.hpp"
#include "cli/fit_report.hpp"
#include "cli/fit_source.hpp"
#include "cli/flag_values.hpp"
#include "cli/output_file.hpp"

namespace evenkeel::cli {

namespace {

struct FitFlags : FitSource {
  std::string points;
  std::optional<std::int64_t> nodes;
  std::string plot;
  std::string plot_rate;
  bool json = false;
};

Result<void> check_outputs(const FitFlags& flags) {
  for (const auto& [flag, path] : {std::pair("--plot", flags.plot), std::pair("--plot-rate", flags.plot_rate)}) {
    if (path.empty()) continue;
    if (auto ok = check_output_file(flag, path); !ok) return ok;
  }
  return {};
}

/// What is asked for was computed, so that a picture that cannot be written is a finding.
bool write_picture(std::string_view flag, const std::string& path, const std::string& svg) {
  if (path.empty()) return true;
  const auto written = write_output_file(flag, path, svg);
  if (!written) fmt::print(stderr, "evenkeel plan fit: {}\n", written.error().message);
  return written.has_value();
}

Result<int> fit_points(const FitFlags& flags) {
  const auto planned = flags.nodes ? std::optional(static_cast<double>(*flags.nodes)) : std::nullopt;
  const auto fit = PointsFit::read(flags.points, planned);
  if (!fit) return tl::unexpected(fit.error());
  fmt::print("{}", flags.json ? fit->json(flags.points) : fit->text());
  const bool drawn = write_picture("--plot", flags.plot, flags.plot.empty() ? "" : fit->svg());
  return fit->warning().empty() && drawn ? 0 : 1;
}

Result<int> fit_requests(FitFlags& flags) {
  flags.options.nodes = static_cast<std::uint32_t>(flags.nodes.value_or(0));
  const auto read = flags.read();
  if (!read) return tl::unexpected(read.error());
  fmt::print("{}", flags.json ? fit_json(*read, flags.spec.path) : fit_text(*read));
  bool drawn = write_picture("--plot", flags.plot, flags.plot.empty() ? "" : tail_svg(read->fit));
  drawn = write_picture("--plot-rate", flags.plot_rate, flags.plot_rate.empty() ? "" : rate_svg(read->fit)) && drawn;
  return read->fit.obstacles.empty() && drawn ? 0 : 1;
}

Result<int> run(FitFlags& flags) {
  if (auto ok = check_outputs(flags); !ok) return tl::unexpected(ok.error());
  if (!flags.points.empty()) return fit_points(flags);
  if (!flags.spec.path.empty()) return fit_requests(flags);
  return failure("nothing to fit: give --from or --points");
}

}  // namespace

void add_plan_fit(CLI::App& plan, int& exit_code) {
  CLI::App* const command =
      plan.add_subcommand("fit", "what a log, a trace or measured points say of a fleet, with how sure that is");
  const auto flags = std::make_shared<FitFlags>();
  auto* const from =
      command->add_option("--from", flags->spec.path, "access log or any other trace, plain or .gz")->check(text());
  command->add_option("--points", flags->points, "CSV n,per_s of measured throughput: fits the scalability law")
      ->check(text())
      ->excludes(from);
  command
      ->add_option("--nodes", flags->nodes,
                   "workers behind the requests (default: those a log names); with --points "
                   "how many are planned")
      ->check(whole({1, 100'000}));
  command
      ->add_option("--scale-time", flags->options.window_s,
                   "s from the decision to scale to live capacity: the length of a window")
      ->check(real({1e-3, 1e6}))
      ->needs(from)
      ->capture_default_str();
  flags->add_to(*command, "--from");
  command->add_option("--seed", flags->options.seed, "of bootstraps and of what a trace draws")
      ->check(whole(simulation::bounds::seed))
      ->needs(from)
      ->capture_default_str();
  command->add_option("--plot", flags->plot, "writes an SVG: the tail, or the points and their law")->check(text());
  command->add_option("--plot-rate", flags->plot_rate, "writes an SVG: arrivals over time")->check(text())->needs(from);
  command->add_flag("--json", flags->json, "one JSON object");
  command->footer(
      "Exit codes: 0 fine, 1 no reserve can be planned from this, or more than half of the peak is planned; "
      "2 usage.");
  command->callback([flags, &exit_code] {
    const auto code = run(*flags);
    if (!code) fmt::print(stderr, "evenkeel plan fit: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
