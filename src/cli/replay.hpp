#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `replay`. Its callback sets `exit_code`: 0 every request completed, 1 some failed, 2 usage.
void add_replay(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
