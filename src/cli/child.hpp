#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::cli {

/// A child process running this same program. Ended by SIGTERM, and waited for, when the guard goes.
class Child {
 public:
  /// Starts `evenkeel arguments...` with standard output to a pipe and standard error to `error_log` (a path).
  [[nodiscard]] static Result<Child> start(const std::vector<std::string>& arguments, const std::string& error_log);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  /// The next line of its standard output, without LF; empty once it has ended. Waits for it.
  [[nodiscard]] std::string read_line();
  /// SIGTERM, then waits. The exit code, or 128 + signal.
  int end();

 private:
  Child() = default;
  pid_t pid_ = -1;
  int output_ = -1;
};

/// A port nobody listens on at the moment.
[[nodiscard]] Result<std::uint16_t> free_port();

}  // namespace evenkeel::cli
