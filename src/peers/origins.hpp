#pragma once

#include <cstdint>
#include <vector>

#include "peers/news.hpp"

namespace evenkeel::peers {

/// What a router has taken on for others: requests by the router they came from. It is what peers are told.
class Origins {
 public:
  /// `epoch` is larger at each start of the router.
  Origins(std::size_t peers, std::uint64_t epoch) : active_(peers, 0), epoch_(epoch) {}

  /// `origin` is below the number of peers.
  void began(std::size_t origin) { ++active_[origin]; }
  void ended(std::size_t origin) { --active_[origin]; }
  [[nodiscard]] std::int64_t active(std::size_t origin) const { return active_[origin]; }

  /// For the peer `to`: `total` requests of everybody are with the engine or on their way into it.
  [[nodiscard]] News news(std::size_t to, std::int64_t total) { return {epoch_, ++sequence_, total, active_[to]}; }

 private:
  std::vector<std::int64_t> active_;
  std::uint64_t epoch_;
  std::uint64_t sequence_ = 0;
};

}  // namespace evenkeel::peers
