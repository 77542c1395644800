#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// `evenkeel plan`: one file per subcommand, plan_<name>.cpp.
void add_plan(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
