#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::calibrate {

/// Prompts of which no two begin alike, so that no prefix cache has seen any: each starts with a nonce, from its first
/// token on. Another `run` gives others. What follows asks for a long answer.
class Prompts {
 public:
  explicit Prompts(std::uint64_t run) : run_(run) {}
  [[nodiscard]] std::string next();
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  std::uint64_t run_;
  std::uint64_t made_ = 0;
};

}  // namespace evenkeel::calibrate
