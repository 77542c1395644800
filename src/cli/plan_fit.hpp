#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// `evenkeel plan fit`.
void add_plan_fit(CLI::App& plan, int& exit_code);

}  // namespace evenkeel::cli
