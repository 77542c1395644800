#include "cli/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace evenkeel::cli {

namespace {

tl::unexpected<Error> cannot_write(std::string_view flag, const std::string& path, int fault) {
  return failure(fmt::format("{}: cannot write {}: {}", flag, path, std::generic_category().message(fault)));
}

}  // namespace

Result<void> check_output_file(std::string_view flag, const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  errno = 0;
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) return cannot_write(flag, path, errno);
  if (!was_there) std::filesystem::remove(path, ignored);
  return {};
}

Result<void> check_output_directory(std::string_view flag, const std::string& path) {
  std::error_code fault;
  std::filesystem::create_directories(path, fault);
  if (fault) return cannot_write(flag, path, fault.value());
  if (access(path.c_str(), W_OK | X_OK) != 0) return cannot_write(flag, path, errno);
  return {};
}

Result<void> write_output_file(std::string_view flag, const std::string& path, std::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << contents;
  file.close();
  if (!file) return cannot_write(flag, path, errno);
  return {};
}

}  // namespace evenkeel::cli
