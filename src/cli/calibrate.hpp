#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// `evenkeel calibrate`: measures how many requests an engine should have at once, and how fast it is then.
void add_calibrate(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
