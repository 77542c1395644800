#include "observe/log_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

namespace evenkeel::observe {

Result<std::unique_ptr<LogWriter>> LogWriter::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<LogWriter>(new LogWriter(STDOUT_FILENO, false));
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return failure(fmt::format("cannot open the access log \"{}\": {}", path, std::strerror(errno)));
  return std::unique_ptr<LogWriter>(new LogWriter(fd, true));
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

void LogWriter::write_out(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return;  // a full disk must not stop the router
    }
  }
}

}  // namespace evenkeel::observe
