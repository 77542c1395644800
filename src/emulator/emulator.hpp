#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/options.hpp"
#include "emulator/replica.hpp"
#include "http/loop.hpp"

namespace evenkeel::emulator {

/// A fleet of emulated engines on one loop. Once it is destroyed the loop must not run again.
class Emulator {
 public:
  /// Error: the first setting that is out of bounds, or the first port that cannot be listened on.
  [[nodiscard]] static Result<Emulator> open(http::EventLoop& loop, const EmulatorOptions& options);
  Emulator(Emulator&&) = default;
  Emulator& operator=(Emulator&&) = delete;
  ~Emulator();

  [[nodiscard]] std::vector<std::uint16_t> ports() const;

 private:
  Emulator() = default;
  std::vector<std::shared_ptr<Replica>> replicas_;
};

}  // namespace evenkeel::emulator
