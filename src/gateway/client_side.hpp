#pragma once

#include <string>

#include "gateway/body_stream.hpp"
#include "gateway/outbox.hpp"
#include "gateway/request.hpp"
#include "gateway/spares.hpp"
#include "http/stream.hpp"

namespace evenkeel::gateway {

/// The client's end of one connection: its stream, what was read of it and not used, what could not be written yet.
struct ClientSide {
  ClientSide(http::Fiber& on, http::Stream accepted, const http::Address& from, bool fin_is_gone, Spares& with)
      : fiber(on),
        spares(with),
        stream(std::move(accepted)),
        host(from.host()),
        fin_cancels(fin_is_gone),
        outbox(stream) {
    stream.bind(&fiber);
  }

  http::Fiber& fiber;
  Spares& spares;
  http::Stream stream;
  std::string host;  ///< the peer's address
  bool fin_cancels;
  Outbox outbox;
  std::string in;              ///< bytes read: the request at hand, then whatever follows it
  std::size_t in_use = 0;      ///< how many of them belong to the request at hand
  BodyStream* body = nullptr;  ///< of a body that is being streamed up and is not at its end
  bool keep_alive = true;      ///< the connection goes on after this answer

  /// The request at hand will not be looked at again: its bytes may go. Views of its head end here.
  void release_request() {
    if (in.size() == in_use) {
      spares.give(in);
    } else {
      in.erase(0, in_use);
    }
    in_use = 0;
  }

  /// The client will not read the rest of an answer.
  [[nodiscard]] bool gone() const {
    return stream.broken() || (fin_cancels && stream.peer_closed()) || !stream.is_open();
  }
};

}  // namespace evenkeel::gateway
