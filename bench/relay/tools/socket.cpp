#include "socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace relay_bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void set_nodelay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void fail(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
  // Connections are abandoned, not wound down: the peer must not mistake this for a clean end.
  std::_Exit(1);
}

std::uint64_t now_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(ts.tv_nsec);
}

void sleep_ns(std::uint64_t nanoseconds) {
  const timespec ts{.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000u),
                    .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000u)};
  nanosleep(&ts, nullptr);
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Fd try_listen(std::uint16_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) fail(std::string("socket: ") + std::strerror(errno));
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Fd();
  if (listen(fd.get(), 4096) != 0) return Fd();
  return fd;
}

Fd accept_from(const Fd& listener) {
  Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.get() >= 0) {
    set_nodelay(fd.get());
  } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
    fail(std::string("accept: ") + std::strerror(errno));
  }
  return fd;
}

Fd connect_to(std::uint16_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) fail(std::string("socket: ") + std::strerror(errno));
  const sockaddr_in address = loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("connect to port " + std::to_string(port) + ": " + std::strerror(errno));
  }
  set_nodelay(fd.get());
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

Io send_some(const Fd& fd, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return Io::would_block;
    } else if (errno != EINTR) {
      return Io::closed;
    }
  }
  return Io::done;
}

Io receive_some(const Fd& fd, std::span<char> buffer, std::size_t& received) {
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received = static_cast<std::size_t>(got);
      return Io::done;
    }
    if (got == 0) return Io::closed;
    if (errno == EAGAIN) return Io::would_block;
    if (errno != EINTR) return Io::closed;
  }
}

Poller::Poller() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_.get() < 0) fail(std::string("epoll_create1: ") + std::strerror(errno));
  // The default slack of 50 us would be added to every paced event and every scheduled request.
  prctl(PR_SET_TIMERSLACK, 1);
}

void Poller::add(const Fd& fd, std::uint32_t events, void* owner) {
  epoll_event event{.events = events, .data = {.ptr = owner}};
  if (epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    fail(std::string("epoll_ctl: ") + std::strerror(errno));
  }
}

void Poller::change(const Fd& fd, std::uint32_t events, void* owner) {
  epoll_event event{.events = events, .data = {.ptr = owner}};
  if (epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd.get(), &event) != 0) {
    fail(std::string("epoll_ctl: ") + std::strerror(errno));
  }
}

std::span<const epoll_event> Poller::wait(std::uint64_t timeout_ns) {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u);
  const int ready = epoll_pwait2(fd_.get(), events_, static_cast<int>(batch), &timeout, nullptr);
  if (ready < 0 && errno != EINTR) fail(std::string("epoll_pwait2: ") + std::strerror(errno));
  return {events_, static_cast<std::size_t>(ready < 0 ? 0 : ready)};
}

}  // namespace relay_bench
