#include "http/listener.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace evenkeel::http {

Result<std::unique_ptr<Listener>> Listener::open(EventLoop& loop, const Address& at, OnAccept on_accept,
                                                 ListenOptions options) {
  const int fd = ::socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto fail = [&](const char* what) {
    const int why = errno;
    if (fd >= 0) ::close(fd);
    return failure(fmt::format("cannot listen on {}: {}: {}", at.text(), what, std::strerror(why)));
  };
  if (fd < 0) return fail("socket");
  const int on = 1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.share_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return fail("SO_REUSEPORT");
  if (::bind(fd, at.get(), at.size()) != 0) return fail("bind");
  if (::listen(fd, options.backlog) != 0) return fail("listen");
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return fail("getsockname");
  const Address actual(reinterpret_cast<const sockaddr*>(&bound), size);
  auto state = std::make_shared<State>(State{std::move(on_accept)});
  std::unique_ptr<Listener> listener(new Listener(state, actual.port()));
  listener->fiber_ = &loop.spawn(accept_loop, std::move(state), Stream(loop, fd));
  return listener;
}

void Listener::close() {
  if (std::exchange(state_->closed, true)) return;
  fiber_->wake();
}

Task<void> Listener::accept_loop(Fiber& fiber, std::shared_ptr<State> state, Stream socket) {
  socket.bind(&fiber);
  while (!state->closed) {
    for (int burst = 0; burst < 64 && !state->closed; ++burst) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int fd =
          ::accept4(socket.descriptor(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        state->on_accept(Stream(fiber.loop(), fd), Address(reinterpret_cast<const sockaddr*>(&from), size));
        if (burst == 63) fiber.wake();
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        fiber.set_deadline(fiber.loop().now() + std::chrono::milliseconds(50));  // descriptors may come free
      }
      break;
    }
    if (state->closed) break;
    co_await fiber.wait();
  }
}

}  // namespace evenkeel::http
