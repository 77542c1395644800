#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/options.hpp"
#include "emulator/replica.hpp"
#include "http/loop.hpp"

namespace evenkeel::emulator {

/// Where a client reaches an engine, or one rank of it.
struct ServedPort {
  std::uint16_t port = 0;
  std::size_t replica = 0;
  std::optional<std::size_t> rank{};  ///< the one that it serves; none: all of the engine's
};

/// A fleet of emulated engines on one loop. Once it is destroyed the loop must not run again.
class Emulator {
 public:
  /// Error: the first setting that is out of bounds, or the first port that cannot be listened on.
  [[nodiscard]] static Result<Emulator> open(http::EventLoop& loop, const EmulatorOptions& options);
  Emulator(Emulator&&) = default;
  Emulator& operator=(Emulator&&) = delete;
  ~Emulator();

  /// By replica, then by rank.
  [[nodiscard]] const std::vector<ServedPort>& served() const { return served_; }
  [[nodiscard]] std::vector<std::uint16_t> ports() const;

 private:
  Emulator() = default;
  std::vector<ServedPort> served_;
  std::vector<std::shared_ptr<Replica>> replicas_;
};

}  // namespace evenkeel::emulator
