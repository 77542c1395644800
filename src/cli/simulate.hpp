#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `simulate`. When it is chosen it runs policies in virtual time, prints a table or JSON and sets
/// `exit_code`: 0 fine, 2 usage.
void add_simulate(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
