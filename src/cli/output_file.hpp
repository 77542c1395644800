#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::cli {

/// Whether the file can be written, before work is done whose result would be lost. Leaves a file that is there as it
/// is, and none where none was. Errors name `flag`.
[[nodiscard]] Result<void> check_output_file(std::string_view flag, const std::string& path);
/// The same for replace_output_file(), which needs a place beside it.
[[nodiscard]] Result<void> check_replaceable_file(std::string_view flag, const std::string& path);
/// The same of a directory that files are to be written to; one that is not there is made.
[[nodiscard]] Result<void> check_output_directory(std::string_view flag, const std::string& path);

/// Replaces the file's contents. Errors name `flag`.
[[nodiscard]] Result<void> write_output_file(std::string_view flag, const std::string& path, std::string_view contents);

/// The file is the new one or, after an error, as it was; whoever reads it meanwhile sees one of the two, whole.
/// Anybody may read it (mode 0644).
[[nodiscard]] Result<void> replace_output_file(std::string_view flag, const std::string& path,
                                               std::string_view contents);

}  // namespace evenkeel::cli
