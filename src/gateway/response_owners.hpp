#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"
#include "gateway/fleet_map.hpp"

namespace evenkeel::gateway {

/// Which worker made which /v1/responses id, for the last so many ids. Thread-safe.
class ResponseOwners {
 public:
  explicit ResponseOwners(std::size_t limit) : limit_(limit) {}

  void remember(std::string_view id, WorkerId worker) {
    if (limit_ == 0 || id.empty() || id.size() > 256) return;
    const std::lock_guard lock(mutex_);
    if (!owners_.emplace(std::string(id), worker).second) return;
    order_.emplace_back(id);
    if (order_.size() <= limit_) return;
    owners_.erase(order_.front());
    order_.pop_front();
  }

  [[nodiscard]] std::optional<WorkerId> find(std::string_view id) const {
    const std::lock_guard lock(mutex_);
    const auto at = owners_.find(id);
    return at == owners_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::size_t limit_;
  mutable std::mutex mutex_;
  boost::unordered_flat_map<std::string, WorkerId, StringHash, std::equal_to<>> owners_;
  std::list<std::string> order_;
};

}  // namespace evenkeel::gateway
