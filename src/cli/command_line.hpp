#pragma once

#include <optional>

#include <CLI/CLI.hpp>

namespace evenkeel::cli {

/// Parses the command line and runs the command it names. What all commands have in common is here: a flag that takes
/// no value is given none, "--flag=" is no value, and a flag or command that does not exist is answered with the
/// nearest that does. Gives what the process is to return if no command ran: 0 after help, 2 after an error of usage,
/// which has been told on stderr.
[[nodiscard]] std::optional<int> run_command_line(CLI::App& app, int argc, char** argv);

}  // namespace evenkeel::cli
