#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// `evenkeel plan sweep`.
void add_plan_sweep(CLI::App& plan, int& exit_code);

}  // namespace evenkeel::cli
