#pragma once

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// Registers `forecast train` and `forecast eval`. Their callbacks set `exit_code`: 0 done, 1 too little data to train
/// or to judge, 2 usage.
void add_forecast(CLI::App& app, int& exit_code);

}  // namespace evenkeel::cli
