#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `demo`: emulated engines, the router and a slice of a real trace, one policy after the other.
void add_demo(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
