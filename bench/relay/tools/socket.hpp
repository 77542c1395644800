// Loopback sockets and an epoll loop for the benchmark's two programs. Single-threaded; errors that only a
// broken benchmark can cause end the program with a message and exit code 1.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace relay_bench {

// Prints "<program>: <message>" on standard error and exits with 1.
[[noreturn]] void fail(const std::string& message);

// CLOCK_MONOTONIC in nanoseconds: comparable between processes of one host.
std::uint64_t now_ns();

void sleep_ns(std::uint64_t nanoseconds);

// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }

 private:
  int fd_;
};

// A non-blocking listener on 127.0.0.1:port, or an empty Fd when the port is taken.
Fd try_listen(std::uint16_t port);

// A non-blocking accepted connection with TCP_NODELAY, or an empty Fd when none is pending.
Fd accept_from(const Fd& listener);

// A connection to 127.0.0.1:port with TCP_NODELAY; established when it returns (loopback answers at once).
Fd connect_to(std::uint16_t port);

enum class Io { done, would_block, closed };

// Sends what the kernel takes and drops it from the front of `bytes`.
Io send_some(const Fd& fd, std::string_view& bytes);

// Receives up to buffer.size() bytes; `received` is set on Io::done and never zero.
Io receive_some(const Fd& fd, std::span<char> buffer, std::size_t& received);

// Level-triggered epoll with nanosecond timeouts. The owner is what wait() hands back with an event.
class Poller {
 public:
  static constexpr std::size_t batch = 256;

  Poller();
  void add(const Fd& fd, std::uint32_t events, void* owner);
  void change(const Fd& fd, std::uint32_t events, void* owner);
  // Ready events, at most `batch` of them. timeout_ns 0 polls.
  std::span<const epoll_event> wait(std::uint64_t timeout_ns);

 private:
  Fd fd_;
  epoll_event events_[batch];
};

}  // namespace relay_bench
