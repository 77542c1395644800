#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/calibrate.hpp"
#include "cli/command_line.hpp"
#include "cli/demo.hpp"
#include "cli/emulate.hpp"
#include "cli/forecast.hpp"
#include "cli/plan.hpp"
#include "cli/replay.hpp"
#include "cli/retrace.hpp"
#include "cli/serve.hpp"
#include "cli/simulate.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Evenkeel routes LLM inference over a fleet of engines."};
  app.set_version_flag("--version", std::string("evenkeel ") + EVENKEEL_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 fine, 1 a finding, 2 usage. `evenkeel COMMAND --help` explains a command.");
  int exit_code = 0;
  evenkeel::cli::add_serve(app, exit_code);
  evenkeel::cli::add_emulate(app, exit_code);
  evenkeel::cli::add_replay(app, exit_code);
  evenkeel::cli::add_calibrate(app, exit_code);
  evenkeel::cli::add_demo(app, exit_code);
  evenkeel::cli::add_forecast(app, exit_code);
  evenkeel::cli::add_simulate(app, exit_code);
  evenkeel::cli::add_retrace(app, exit_code);
  evenkeel::cli::add_plan(app, exit_code);
  if (const auto ended = evenkeel::cli::run_command_line(app, argc, argv)) return *ended;
  if (std::fflush(stdout) != 0 || !std::cout.flush()) {
    std::cerr << "evenkeel: what was found could not be written to standard output\n";
    return exit_code == 0 ? 1 : exit_code;
  }
  return exit_code;
}
