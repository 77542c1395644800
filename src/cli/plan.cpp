#include "cli/plan.hpp"

#include <CLI/CLI.hpp>

#include "cli/plan_fit.hpp"
#include "cli/plan_reserve.hpp"
#include "cli/plan_sweep.hpp"

namespace evenkeel::cli {

void add_plan(CLI::App& app, int& exit_code) {
  CLI::App* const plan = app.add_subcommand("plan", "how much of a fleet's scarcest resource must stay free");
  plan->require_subcommand(1);
  add_plan_reserve(*plan, exit_code);
  add_plan_sweep(*plan, exit_code);
  add_plan_fit(*plan, exit_code);
}

}  // namespace evenkeel::cli
