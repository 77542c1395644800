#pragma once

#include <functional>
#include <memory>

#include "base/error.hpp"
#include "http/address.hpp"
#include "http/loop.hpp"
#include "http/stream.hpp"

namespace evenkeel::http {

struct ListenOptions {
  bool share_port = false;  ///< SO_REUSEPORT: several loops listen on one port and the kernel spreads
  int backlog = 4096;
};

/// A listening socket. Accepts on the loop it was made for, until closed.
class Listener {
 public:
  using OnAccept = std::function<void(Stream, const Address& peer)>;

  /// Port 0 takes a free one; port() tells which.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(EventLoop& loop, const Address& at, OnAccept on_accept,
                                                              ListenOptions options = {});
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Stops accepting; connections already made go on. Idempotent, loop thread only.
  void close();

 private:
  Listener(OnAccept on_accept, std::uint16_t port) : on_accept_(std::move(on_accept)), port_(port) {}
  Task<void> accept_loop(Fiber& fiber, Stream socket);

  OnAccept on_accept_;
  std::uint16_t port_;
  Fiber* fiber_ = nullptr;
  bool closed_ = false;
};

}  // namespace evenkeel::http
