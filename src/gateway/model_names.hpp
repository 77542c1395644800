#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "gateway/fleet_map.hpp"

namespace evenkeel::gateway {

/// Every model there ever was in this run, by the name that its engines serve it by. Thread-safe.
class ModelNames {
 public:
  using All = std::map<ModelId, std::string>;

  void know(ModelId id, std::string name) {
    const std::lock_guard lock(mutex_);
    names_[id] = std::move(name);
  }
  void know(const FleetMap& map) {
    for (const ModelName& model : map.served) know(model.id, model.served);
  }
  [[nodiscard]] All all() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  mutable std::mutex mutex_;
  All names_;
};

}  // namespace evenkeel::gateway
