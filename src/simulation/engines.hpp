#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/model.hpp"
#include "simulation/setting.hpp"

namespace evenkeel::simulation {

/// The engines of all workers: the ranks of one group if they share their steps, else one engine each.
class Engines {
 public:
  /// `setting` must be valid.
  explicit Engines(const Setting& setting);

  [[nodiscard]] std::optional<Time> next_event() const;
  void advance(Time now, engine::EngineSink& sink);
  [[nodiscard]] engine::SubmitOutcome submit(Time now, std::size_t worker, engine::EngineRequest request);
  [[nodiscard]] engine::EngineBooks books(std::size_t worker) const;
  [[nodiscard]] std::size_t workers() const { return workers_; }
  [[nodiscard]] Result<void> check() const;

 private:
  std::size_t workers_;
  std::vector<std::unique_ptr<engine::EngineModel>> models_;
};

}  // namespace evenkeel::simulation
