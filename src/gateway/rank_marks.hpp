#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace evenkeel::gateway {

/// What is known of engines with data-parallel ranks, for the metrics page and between shards and control.
/// Thread-safe.
class RankMarks {
 public:
  /// An engine refused the rank that a request was addressed at.
  void refused(WorkerId worker) {
    const std::lock_guard lock(mutex_);
    ++refusals_[worker];
  }
  [[nodiscard]] std::uint64_t refusals(WorkerId worker) const {
    const std::lock_guard lock(mutex_);
    const auto at = refusals_.find(worker);
    return at == refusals_.end() ? 0 : at->second;
  }

  struct Mark {
    std::size_t ranks = 0;         ///< that it has, addressed or not
    std::optional<bool> honoured;  ///< whether requests run where they are sent; nothing: not known
  };
  void note(const std::string& engine, Mark mark) {
    const std::lock_guard lock(mutex_);
    engines_[engine] = mark;
  }
  void forget(const std::string& engine) {
    const std::lock_guard lock(mutex_);
    engines_.erase(engine);
  }
  /// By name.
  [[nodiscard]] std::vector<std::pair<std::string, Mark>> engines() const {
    const std::lock_guard lock(mutex_);
    return {engines_.begin(), engines_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::map<WorkerId, std::uint64_t> refusals_;
  std::map<std::string, Mark> engines_;
};

}  // namespace evenkeel::gateway
