#include "http/stream.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace evenkeel::http {

namespace {
void set_no_delay(int fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
}  // namespace

std::span<char> scratch_buffer() {
  thread_local std::array<char, 65536> buffer;
  return buffer;
}

Stream::Stream(EventLoop& loop, int fd) : loop_(&loop), fd_(fd) {
  set_no_delay(fd);
  loop.watch(fd, this);
}

Stream::Stream(Stream&& other) noexcept
    : loop_(other.loop_),
      fiber_(std::exchange(other.fiber_, nullptr)),
      fd_(std::exchange(other.fd_, -1)),
      error_(other.error_),
      readable_(other.readable_),
      writable_(other.writable_),
      wants_write_(other.wants_write_),
      peer_closed_(other.peer_closed_),
      broken_(other.broken_) {
  if (fd_ >= 0) loop_->move_watch(fd_, this);
}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  close();
  loop_ = other.loop_;
  fiber_ = std::exchange(other.fiber_, nullptr);
  fd_ = std::exchange(other.fd_, -1);
  error_ = other.error_;
  readable_ = other.readable_;
  writable_ = other.writable_;
  wants_write_ = other.wants_write_;
  peer_closed_ = other.peer_closed_;
  broken_ = other.broken_;
  if (fd_ >= 0) loop_->move_watch(fd_, this);
  return *this;
}

Stream Stream::begin_connect(EventLoop& loop, const Address& to) {
  Stream stream;
  const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    stream.error_ = errno;
    stream.broken_ = true;
    return stream;
  }
  const int code = ::connect(fd, to.get(), to.size());
  const int why = code == 0 ? 0 : errno;
  stream = Stream(loop, fd);
  stream.readable_ = false;
  stream.writable_ = code == 0;
  stream.wants_write_ = true;
  if (code != 0 && why != EINPROGRESS) {
    stream.error_ = why;
    stream.broken_ = true;
  }
  return stream;
}

IoStatus Stream::try_connected() {
  if (broken_) return IoStatus::failed;
  if (!writable_) return IoStatus::would_block;
  int code = 0;
  socklen_t size = sizeof code;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
  if (code == 0) {
    wants_write_ = false;
    return IoStatus::ok;
  }
  error_ = code;
  broken_ = true;
  return IoStatus::failed;
}

Task<IoStatus> Stream::connected() {
  while (true) {
    const IoStatus status = try_connected();
    if (status != IoStatus::would_block) co_return status;
    if (fiber_->deadline_passed()) co_return IoStatus::timed_out;
    co_await fiber_->wait();
  }
}

IoResult Stream::try_read(std::span<char> into) {
  if (!readable_ && !peer_closed()) return {};
  while (true) {
    const ssize_t count = ::recv(fd_, into.data(), into.size(), 0);
    if (count > 0) {
      // A short read has drained the socket; the next bytes make a new edge. A FIN that came along does not.
      if (static_cast<std::size_t>(count) < into.size() && !peer_closed()) readable_ = false;
      return {IoStatus::ok, static_cast<std::size_t>(count)};
    }
    if (count == 0) {
      peer_closed_ = true;
      return {IoStatus::end, 0};
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      readable_ = false;
      return {};
    }
    error_ = errno;
    broken_ = true;
    return {IoStatus::failed, 0};
  }
}

IoResult Stream::try_write(std::span<const iovec> parts) {
  if (!is_open()) return {IoStatus::failed, 0};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());  // sendmsg does not write through it
  message.msg_iovlen = parts.size();
  while (true) {
    const ssize_t count = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (count >= 0) return {IoStatus::ok, static_cast<std::size_t>(count)};
    if (errno != EINTR) return write_failed();
  }
}

IoResult Stream::write_failed() {
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    writable_ = false;
    wants_write_ = true;
    return {};
  }
  error_ = errno;
  broken_ = true;
  return {IoStatus::failed, 0};
}

IoResult Stream::try_write(std::string_view bytes) {
  if (!is_open()) return {IoStatus::failed, 0};
  while (true) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {IoStatus::ok, static_cast<std::size_t>(count)};
    if (errno != EINTR) return write_failed();
  }
}

Task<IoResult> Stream::read_some(std::span<char> into) {
  while (true) {
    const IoResult result = try_read(into);
    if (result.status != IoStatus::would_block) co_return result;
    if (fiber_->deadline_passed()) co_return IoResult{IoStatus::timed_out, 0};
    co_await fiber_->wait();
  }
}

Task<IoStatus> Stream::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const IoResult result = try_write(bytes);
    if (result.status == IoStatus::ok) {
      bytes.remove_prefix(result.bytes);
      continue;
    }
    if (result.status != IoStatus::would_block) co_return result.status;
    if (fiber_->deadline_passed()) co_return IoStatus::timed_out;
    co_await fiber_->wait();
  }
  co_return IoStatus::ok;
}

void Stream::close() {
  if (fd_ < 0) return;
  loop_->unwatch(fd_);
  ::close(std::exchange(fd_, -1));
}

void Stream::finish_sending() {
  if (fd_ >= 0) (void)::shutdown(fd_, SHUT_WR);
}

void Stream::abort() {
  if (fd_ < 0) return;
  const linger now{1, 0};
  (void)setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void Stream::on_events(std::uint32_t events) {
  bool news = false;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 && (events & EPOLLERR) != 0) {
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code != 0) {
      error_ = code;
      broken_ = true;
      news = true;
    }
  }
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    peer_closed_ = true;
    news = true;
  }
  if ((events & EPOLLIN) != 0) {
    readable_ = true;
    news = true;
  }
  if ((events & EPOLLOUT) != 0 && !writable_) {
    writable_ = true;
    news = news || wants_write_;
    wants_write_ = false;
  }
  if (news && fiber_ != nullptr) fiber_->wake();
}

}  // namespace evenkeel::http
