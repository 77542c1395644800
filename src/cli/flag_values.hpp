#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "simulation/bounds.hpp"

namespace evenkeel::cli {

// Checks of what a flag was given, on its text, before CLI11 converts it: CLI11 takes numbers that do not fit for the
// largest that does, and nothing at all for what was there before. Errors tell the text and what is allowed; CLI11
// puts the flag before them.

/// A whole number within bounds, in digits.
[[nodiscard]] CLI::Validator whole(simulation::Whole bounds);
/// A finite number within bounds.
[[nodiscard]] CLI::Validator real(simulation::Real bounds);
/// Anything but an empty text.
[[nodiscard]] CLI::Validator text();
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

}  // namespace evenkeel::cli
