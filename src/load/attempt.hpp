#pragma once

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "http/client.hpp"
#include "http/connection_pool.hpp"
#include "http/loop.hpp"
#include "load/answer.hpp"
#include "load/record.hpp"
#include "maths/histogram.hpp"

namespace evenkeel::load {

/// What the requests of one run share: where they go, the connections kept, scratch memory.
struct Client {
  explicit Client(const http::Address& address) : to(address) {}

  http::Address to;
  http::ConnectionPool pool{{.idle = std::chrono::seconds(4), .connections = 1024}};
  JsonScratch json;
};

/// What the router's headers tell of an answer; empty where it told nothing.
struct Receipt {
  std::string worker;
  std::string policy;
  std::string refusal;
};

/// One request and what became of it.
struct Attempt {
  Client& client;
  const http::ClientRequest& request;
  Time start;   ///< of the replay
  bool stream;  ///< the answer should be one
  maths::Histogram& gaps_ms;
  RequestRecord* record = nullptr;
  Receipt receipt{};
  std::string trouble{};  ///< words, if it failed
  bool reconnected = false;
  /// Told after each read of a stream how many events with content have come so far; may be empty.
  std::function<void(std::int64_t events)> on_content{};

  [[nodiscard]] Duration since_start(Time now) const { return now - start; }
};

/// Sends, reads to the true end, and fills the record from `sent` on. Ends at the fiber's deadline. A kept
/// connection that turns out to be dead before the first byte of an answer is replaced once.
http::Task<void> run_attempt(http::Fiber& fiber, Attempt& attempt);

}  // namespace evenkeel::load
