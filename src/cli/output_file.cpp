#include "cli/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace evenkeel::cli {

namespace {

tl::unexpected<Error> cannot_write(std::string_view flag, const std::string& path, int fault) {
  return failure(fmt::format("{}: cannot write {}: {}", flag, path, std::generic_category().message(fault)));
}

/// Where the new contents stand until they are whole.
std::string beside(const std::string& path) { return fmt::format("{}.{}.new", path, getpid()); }

Result<void> write_beside(std::string_view flag, const std::string& path, std::string_view contents) {
  const std::string name = beside(path);
  const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return cannot_write(flag, path, errno);
  int fault = 0;
  while (!contents.empty() && fault == 0) {
    const ssize_t written = write(file, contents.data(), contents.size());
    if (written >= 0) {
      contents.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fault = errno;
    }
  }
  if (fault == 0 && (fchmod(file, 0644) != 0 || fsync(file) != 0)) fault = errno;
  if (close(file) != 0 && fault == 0) fault = errno;
  if (fault == 0) return {};
  unlink(name.c_str());
  return cannot_write(flag, path, fault);
}

/// What a file of that name would take the place of: where links lead, and nothing but a file or what is not there yet.
Result<std::string> replaced_by(std::string_view flag, const std::string& path) {
  if (path.empty()) return failure(fmt::format("{} is empty (allowed: the name of a file)", flag));
  std::error_code fault;
  const auto target = std::filesystem::weakly_canonical(path, fault);
  if (fault) return cannot_write(flag, path, fault.value());
  const auto there = std::filesystem::status(target, fault);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return failure(
        fmt::format("{}: cannot write {}: it is no file (allowed: a file, or a name that is free)", flag, path));
  }
  return target.string();
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

Result<void> check_replaceable_file(std::string_view flag, const std::string& path) {
  const auto target = replaced_by(flag, path);
  if (!target) return tl::unexpected(target.error());
  auto done = write_beside(flag, *target, "");
  if (done) unlink(beside(*target).c_str());
  return done;
}

Result<void> replace_output_file(std::string_view flag, const std::string& path, std::string_view contents) {
  const auto target = replaced_by(flag, path);
  if (!target) return tl::unexpected(target.error());
  if (auto done = write_beside(flag, *target, contents); !done) return done;
  if (std::rename(beside(*target).c_str(), target->c_str()) == 0) return {};
  const int fault = errno;
  unlink(beside(*target).c_str());
  return cannot_write(flag, *target, fault);
}

}  // namespace evenkeel::cli
