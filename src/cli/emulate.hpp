#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `emulate`. When it is chosen it runs until SIGINT or SIGTERM and sets `exit_code`: 0 fine, 2
/// usage (a setting out of bounds, a port that is taken).
void add_emulate(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
