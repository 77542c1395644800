#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// `evenkeel plan reserve`.
void add_plan_reserve(CLI::App& plan, int& exit_code);

}  // namespace evenkeel::cli
