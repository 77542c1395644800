#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::cli {

/// Whether the file can be written, before work is done whose result would be lost. Leaves a file that is there as it
/// is, and none where none was. Errors name `flag`.
[[nodiscard]] Result<void> check_output_file(std::string_view flag, const std::string& path);
/// The same of a directory that files are to be written to; one that is not there is made.
[[nodiscard]] Result<void> check_output_directory(std::string_view flag, const std::string& path);

/// Replaces the file's contents. Errors name `flag`.
[[nodiscard]] Result<void> write_output_file(std::string_view flag, const std::string& path, std::string_view contents);

}  // namespace evenkeel::cli
