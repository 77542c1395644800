#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engines/adapter.hpp"

namespace evenkeel::gateway {

/// Follows what an engine says of the prefix cache of one worker: how much it holds, and whether it has lost it.
class CacheWatch {
 public:
  /// `given`: tokens that it holds, as the operator says; negative: as the engine says.
  explicit CacheWatch(std::int64_t given) : given_(given) {}

  /// A report came, perhaps one that tells nothing. True if the process is not the one that it was, so that whatever
  /// was known of its cache is to be forgotten: it began at another time, its counters fell, or it was unreachable
  /// and tells neither.
  [[nodiscard]] bool see(const engines::Report& report);
  /// It does not answer any more.
  void unreachable() { unreachable_ = true; }

  /// How many blocks of so many tokens are to be kept account of; `block_tokens` 0: not known yet. Stays as it was
  /// while that would change it by less than a quarter: another number costs the index a rebuild.
  [[nodiscard]] std::size_t blocks(double block_tokens);

 private:
  std::int64_t given_;
  std::int64_t told_ = 0;  ///< tokens; 0: no prefix cache, or none that it tells of
  std::optional<double> started_;
  std::optional<double> prompt_total_;
  bool unreachable_ = false;
  std::size_t blocks_ = 0;
  std::int64_t blocks_of_ = 0;  ///< tokens that blocks_ was made of
};

}  // namespace evenkeel::gateway
