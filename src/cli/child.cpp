#include "cli/child.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

extern char** environ;

namespace evenkeel::cli {

Result<Child> Child::start(const std::vector<std::string>& arguments, const std::string& error_log) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::vector<char*> argv;
  std::string self = "evenkeel";
  argv.push_back(self.data());
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Child child;
  const int code = posix_spawn(&child.pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child.output_ = ends[0];
  if (code == 0) return child;
  child.pid_ = -1;
  return failure(fmt::format("cannot start a process: {}", std::strerror(code)));
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  output_ = std::exchange(other.output_, -1);
  return *this;
}

std::string Child::read_line() {
  std::string line;
  char c = 0;
  while (::read(output_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

int Child::end() {
  if (output_ >= 0) ::close(std::exchange(output_, -1));
  if (pid_ < 0) return 0;
  ::kill(pid_, SIGTERM);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<std::uint16_t> free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool fine = fd >= 0 && ::bind(fd, plain, size) == 0 && getsockname(fd, plain, &size) == 0;
  if (fd >= 0) ::close(fd);
  if (!fine) return failure(fmt::format("cannot find a free port: {}", std::strerror(errno)));
  return ntohs(address.sin_port);
}

}  // namespace evenkeel::cli
