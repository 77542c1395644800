#include "cli/plan.hpp"

#include <CLI/CLI.hpp>

namespace evenkeel::cli {

void add_plan(CLI::App& app, int& exit_code) {
  CLI::App* const plan = app.add_subcommand("plan", "how much of a fleet's scarcest resource must stay free");
  plan->require_subcommand(1);
  (void)exit_code;
}

}  // namespace evenkeel::cli
