#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `retrace`. Its callback sets `exit_code`: 0 the same decisions, 1 a difference, 2 usage.
void add_retrace(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
