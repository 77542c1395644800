#include "observe/log_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

namespace evenkeel::observe {

namespace {

/// Whether the file ends within a line, as after a crash.
bool ends_within_a_line(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  char last = '\n';
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const bool read = size > 0 && ::pread(fd, &last, 1, size - 1) == 1;
  ::close(fd);
  return read && last != '\n';
}

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::open(const std::string& path, std::string_view what, bool alone) {
  if (path == "-") return std::unique_ptr<LogWriter>(new LogWriter(STDOUT_FILENO, false));
  const auto refused = [&](std::string_view why) { return failure(fmt::format("the {} \"{}\": {}", what, path, why)); };
  // Without waiting for somebody to read, if it is a pipe.
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fd < 0) return refused(std::strerror(errno));
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  if (alone && ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return refused("another process is writing it");
  }
  auto writer = std::unique_ptr<LogWriter>(new LogWriter(fd, true));
  if (ends_within_a_line(path)) writer->append("\n");
  return writer;
}

LogWriter::LogWriter(int fd, bool owned) : fd_(fd), owned_(owned), thread_([this] { run(); }) {}

LogWriter::~LogWriter() {
  stop_.store(true);
  thread_.join();
  if (owned_) ::close(fd_);
}

void LogWriter::append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (gathered_.size() + line.size() > limit) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  gathered_ += line;
}

void LogWriter::run() {
  std::string out;
  while (true) {
    const bool last = stop_.load();
    {
      const std::lock_guard lock(mutex_);
      out.swap(gathered_);
    }
    write_out(out);
    out.clear();
    if (last) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void LogWriter::write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      dropped_.fetch_add(static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')),
                         std::memory_order_relaxed);
      return;  // a full disk must not stop the router
    }
  }
}

}  // namespace evenkeel::observe
