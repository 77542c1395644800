#include "cli/serve.hpp"

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "config/load.hpp"
#include "gateway/router.hpp"

namespace evenkeel::cli {

namespace {

int serve(const config::FlagValues& flags) {
  auto settings = config::load(flags);
  if (!settings) {
    fmt::print(stderr, "evenkeel serve: {}\n", settings.error().message);
    return 2;
  }
  if (flags.print_config) {
    fmt::print("{}", config::to_toml(*settings));
    return 0;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("evenkeel"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  auto router = gateway::Router::make(*settings);
  if (!router) {
    fmt::print(stderr, "evenkeel serve: {}\n", router.error().message);
    return 2;
  }
  spdlog::info("evenkeel {} listens on {}:{}, admin on {}:{}, policy {}", EVENKEEL_VERSION, settings->host,
               (*router)->port(), settings->admin_host, (*router)->admin_port(), settings->policy);
  for (const auto& worker : settings->workers) spdlog::info("worker {}", worker.url);
  spdlog::info("{}", config::describe_limits(*settings));
  return (*router)->run() ? 0 : 1;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("serve", "Route requests over a fleet of engines.");
  auto flags = std::make_shared<config::FlagValues>();
  config::add_serve_flags(*command, *flags);
  command->callback([flags, &exit_code] { exit_code = serve(*flags); });
}

}  // namespace evenkeel::cli
