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
  /// What the accepting fiber needs; it may outlive the Listener by the turn in which it sees `closed`.
  struct State {
    OnAccept on_accept;
    bool closed = false;
  };
  Listener(std::shared_ptr<State> state, std::uint16_t port) : state_(std::move(state)), port_(port) {}
  static Task<void> accept_loop(Fiber& fiber, std::shared_ptr<State> state, Stream socket);

  std::shared_ptr<State> state_;
  std::uint16_t port_;
  Fiber* fiber_ = nullptr;
};

}  // namespace evenkeel::http
