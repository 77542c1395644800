#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "http/stream.hpp"

namespace evenkeel::http {

/// Idle keep-alive connections of one loop to one peer, last in first out. A connection is handed out only if
/// it has been silent and is younger than the limit, which must lie below the peer's own (uvicorn closes after
/// 5 s): a request written to a dying connection is lost work.
class ConnectionPool {
 public:
  struct Limits {
    Duration idle = std::chrono::seconds(4);
    std::size_t connections = 256;
  };

  explicit ConnectionPool(Limits limits) : limits_(limits) {}

  /// The youngest usable connection, not bound to a fiber.
  [[nodiscard]] std::optional<Stream> take(Time now);
  /// Keeps the connection, or closes it if it is not fit to be kept or the pool is full.
  void give(Stream stream, Time now);
  /// Closes what is stale. For a housekeeping turn.
  void sweep(Time now);
  void clear() { idle_.clear(); }
  void set_limits(Limits limits) { limits_ = limits; }
  [[nodiscard]] std::size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    Stream stream;
    Time since;
  };
  Limits limits_;
  std::vector<Idle> idle_;  // oldest first
};

}  // namespace evenkeel::http
