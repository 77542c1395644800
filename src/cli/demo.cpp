#include "cli/demo.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/text.hpp"
#include "cli/child.hpp"
#include "cli/output_file.hpp"
#include "http/client.hpp"
#include "load/replay.hpp"
#include "load/replay_json.hpp"
#include "load/replay_svg.hpp"
#include "load/replay_table.hpp"
#include "report/progress.hpp"
#include "routing/policy.hpp"
#include "workload/read_trace.hpp"

namespace evenkeel::cli {

namespace {

struct DemoFlags {
  std::string plan = "data/demo.toml";
  std::string trace = "data/azure-2023-conv-slice.csv";
  std::string svg = "build/demo";
  std::uint16_t port = 30000;
  bool once = false;
  bool json = false;
};

struct FleetPlan {
  std::string name;
  std::vector<std::string> engines;
  double requests_per_s = 0;
};

struct Plan {
  double time_scale = 1;
  double seconds = 30;
  double from_s = 0;
  std::int64_t slots = 32;
  std::int64_t kv_tokens = 120000;
  std::string model;
  std::vector<FleetPlan> fleets;
};

Result<Plan> read_plan(const std::string& path) {
  toml::parse_result parsed;
  try {
    parsed = toml::parse_file(path);
  } catch (const toml::parse_error& wrong) {
    return failure(fmt::format("{}: {}", path, wrong.description()));
  }
  Plan plan;
  plan.time_scale = parsed["time_scale"].value_or(plan.time_scale);
  plan.seconds = parsed["seconds"].value_or(plan.seconds);
  plan.from_s = parsed["from_s"].value_or(plan.from_s);
  plan.slots = parsed["slots"].value_or(plan.slots);
  plan.kv_tokens = parsed["kv_tokens"].value_or(plan.kv_tokens);
  plan.model = parsed["model"].value_or(std::string("demo"));
  for (const std::string name : {"unequal", "equal"}) {
    FleetPlan fleet;
    fleet.name = name;
    fleet.requests_per_s = parsed[name]["requests_per_s"].value_or(0.0);
    if (const auto* engines = parsed[name]["engines"].as_array()) {
      for (const auto& engine : *engines) fleet.engines.push_back(engine.value_or(std::string()));
    }
    if (fleet.engines.empty() || fleet.requests_per_s <= 0)
      return failure(fmt::format("{}: [{}] needs engines and requests_per_s", path, name));
    plan.fleets.push_back(std::move(fleet));
  }
  return plan;
}

/// The trace, thinned or compressed to the fleet's rate in real time.
Result<workload::Trace> read_slice(const DemoFlags& flags, const Plan& plan, const FleetPlan& fleet) {
  workload::TraceSpec spec;
  spec.path = flags.trace;
  spec.slice.from_s = plan.from_s;
  auto whole = workload::read_trace(spec);
  if (!whole) return whole;
  const auto& requests = whole->requests;
  if (requests.size() < 2) return failure(flags.trace + " has no requests to replay");
  const double own_rate = static_cast<double>(requests.size()) / to_seconds(requests.back().arrival);
  spec.slice.time_scale = fleet.requests_per_s * plan.time_scale / own_rate;
  spec.slice.max_requests = static_cast<std::uint64_t>(fleet.requests_per_s * plan.time_scale * plan.seconds);
  return workload::read_trace(spec);
}

Result<std::vector<Child>> start_engines(const Plan& plan, const FleetPlan& fleet, std::vector<std::string>& urls) {
  std::vector<Child> engines;
  for (std::size_t i = 0; i < fleet.engines.size(); ++i) {
    auto child =
        Child::start({"emulate", "--port", "0", "--json", "--model", plan.model, "--step-preset", fleet.engines[i],
                      "--slots", std::to_string(plan.slots), "--kv-tokens", std::to_string(plan.kv_tokens),
                      "--time-scale", fmt::format("{}", plan.time_scale), "--seed", std::to_string(i + 1)},
                     "build/demo-engines.log");
    if (!child) return tl::unexpected(child.error());
    const std::string line = child->read_line();
    const auto at = line.find("http://");
    if (at == std::string::npos) return failure("an emulated engine did not start, see build/demo-engines.log");
    urls.push_back(line.substr(at, line.find('"', at) - at));
    engines.push_back(std::move(*child));
  }
  return engines;
}

http::Task<void> wait_until_ready(http::Fiber& fiber, http::Address router, bool* ready) {
  const Time deadline = fiber.loop().now() + std::chrono::seconds(20);
  while (!*ready && fiber.loop().now() < deadline) {
    http::ClientRequest request;
    request.path = "/ready";
    request.host = "demo";
    const auto answer =
        co_await http::fetch(fiber, router, std::move(request), fiber.loop().now() + std::chrono::seconds(2), 65536);
    *ready = answer.status == http::ClientStatus::ok && answer.code == 200;
    if (!*ready) co_await fiber.sleep_until(fiber.loop().now() + std::chrono::milliseconds(50));
  }
}

Result<Child> start_router(const std::vector<std::string>& urls, std::string_view policy, std::uint16_t port) {
  const auto admin = free_port();
  if (!admin) return tl::unexpected(admin.error());
  std::vector<std::string> arguments = {"serve",
                                        "--policy",
                                        std::string(policy),
                                        "--host",
                                        "127.0.0.1",
                                        "--port",
                                        std::to_string(port),
                                        "--admin-port",
                                        std::to_string(*admin),
                                        "--threads",
                                        "1",
                                        "--seed",
                                        "1",
                                        "--worker-urls"};
  arguments.insert(arguments.end(), urls.begin(), urls.end());
  auto child = Child::start(arguments, "build/demo-router.log");
  if (!child) return child;
  http::EventLoop loop;
  bool ready = false;
  loop.spawn(wait_until_ready, *http::resolve("127.0.0.1", port), &ready);
  loop.run(true);
  if (!ready) return failure("the router did not get ready, see build/demo-router.log");
  return child;
}

Result<load::ReplayReport> replay(const Plan& plan, const workload::Trace& trace, std::string_view policy,
                                  std::uint16_t port, const std::string& title) {
  load::ReplayOptions options;
  options.url = fmt::format("http://127.0.0.1:{}", port);
  options.label = policy;
  options.model = plan.model;
  SteadyClock clock;
  const bool terminal = isatty(2) != 0;
  report::Progress progress(
      clock, [](std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stderr); }, terminal, title,
      trace.requests.size());
  std::uint64_t ended = 0;
  auto result = load::run_replay(options, trace, [&](const load::ReplayProgress& state) {
    ended = state.ended;
    progress.update(ended, fmt::format("{} in flight", state.in_flight));
  });
  progress.finish(ended);
  return result;
}

/// One fleet under both policies.
Result<std::vector<load::ReplayReport>> measure_fleet(const DemoFlags& flags, const Plan& plan,
                                                      const FleetPlan& fleet) {
  auto trace = read_slice(flags, plan, fleet);
  if (!trace) return tl::unexpected(trace.error());
  std::vector<load::ReplayReport> reports;
  for (const std::string_view policy : {std::string_view("round_robin"), routing::default_policy}) {
    std::vector<std::string> urls;
    auto engines = start_engines(plan, fleet, urls);  // fresh ones: neither policy finds the other's queues
    if (!engines) return tl::unexpected(engines.error());
    const auto port = free_port();
    if (!port) return tl::unexpected(port.error());
    auto router = start_router(urls, policy, *port);
    if (!router) return tl::unexpected(router.error());
    auto report = replay(plan, *trace, policy, *port, fmt::format("{} engines, {}", fleet.name, policy));
    if (!report) return tl::unexpected(report.error());
    // Ports are free ones, so name the shares by what the engines are.
    for (auto& share : report->workers) {
      for (std::size_t i = 0; i < urls.size(); ++i) {
        if (urls[i].ends_with(share.name)) share.name = fmt::format("{} {}", i + 1, fleet.engines[i]);
      }
    }
    reports.push_back(std::move(*report));
  }
  return reports;
}

std::string chart_of(const DemoFlags& flags, const FleetPlan& fleet) {
  return fmt::format("{}-{}.svg", flags.svg, fleet.name);
}

Result<void> show(const DemoFlags& flags, const FleetPlan& fleet, std::span<const load::ReplayReport> reports) {
  const std::string chart = chart_of(flags, fleet);
  auto written = write_output_file("--svg", chart, load::comparison_svg(reports));
  if (flags.json) {  // one line a run, with the fleet it ran on
    for (const auto& report : reports)
      fmt::print("{{\"fleet\":\"{}\",\"report\":{}}}\n", fleet.name, trim(load::to_json(report)));
  } else {
    fmt::print("\nFour {} engines: {}\n{}\nchart: {}\n", fleet.name, fmt::join(fleet.engines, ", "),
               load::comparison_table(reports), chart);
  }
  std::fflush(stdout);
  return written;
}

Result<void> serve_on(const DemoFlags& flags, const Plan& plan) {
  std::vector<std::string> urls;
  auto engines = start_engines(plan, plan.fleets.front(), urls);
  if (!engines) return tl::unexpected(engines.error());
  auto router = start_router(urls, routing::default_policy, flags.port);
  if (!router) return tl::unexpected(router.error());
  fmt::print(
      "\nThe router serves on port {} until Ctrl-C. Try:\n\n"
      "  curl -N http://127.0.0.1:{}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{{\"model\":\"{}\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"Hello "
      "there\"}}]}}'\n\n",
      flags.port, flags.port, plan.model);
  std::fflush(stdout);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  int got = 0;
  (void)sigwait(&signals, &got);
  return {};
}

int demo(const DemoFlags& flags) {
  const auto plan = read_plan(flags.plan);
  const auto fail = [](const Error& error) {
    fmt::print(stderr, "evenkeel demo: {}\n", error.message);
    return 1;
  };
  if (!plan) return fail(plan.error());
  for (const auto& fleet : plan->fleets) {
    if (auto ok = check_output_file("--svg", chart_of(flags, fleet)); !ok) {
      (void)fail(ok.error());
      return 2;
    }
  }
  for (const auto& fleet : plan->fleets) {
    const auto reports = measure_fleet(flags, *plan, fleet);
    if (!reports) return fail(reports.error());
    if (auto shown = show(flags, fleet, *reports); !shown) return fail(shown.error());
  }
  if (flags.once) return 0;
  const auto served = serve_on(flags, *plan);
  return served ? 0 : fail(served.error());
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("demo", "Emulated engines behind the router, under round robin and the default policy.");
  auto flags = std::make_shared<DemoFlags>();
  command->add_flag("--once", flags->once, "exit after the tables instead of serving on");
  command->add_flag("--json", flags->json, "one JSON line a run instead of the tables (docs/replay.md has the keys)");
  command->add_option("--port", flags->port, "where the router serves on afterwards");
  command->add_option("--plan", flags->plan, "engines, load and scale (TOML)")->capture_default_str();
  command->add_option("--trace", flags->trace, "trace to take the slice from")->capture_default_str();
  command->add_option("--svg", flags->svg, "charts are written to this path + -unequal.svg and -equal.svg")
      ->capture_default_str();
  command->callback([flags, &exit_code] { exit_code = demo(*flags); });
}

}  // namespace evenkeel::cli
