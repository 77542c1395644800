#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `serve`; its callback runs the router and sets the exit code.
void add_serve(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
