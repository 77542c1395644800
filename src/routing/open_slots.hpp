#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "fleet/view.hpp"

namespace evenkeel::routing {

/// What a plan that places several requests together may still do: who waits and which slots are open. Begins from
/// the views and is charged with every admission. Kept from plan to plan, so that none allocates.
class OpenSlots {
 public:
  /// The views must outlive the plan.
  void begin(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Random& random);

  /// Whether somebody waits and a slot is open.
  [[nodiscard]] bool any() const { return total_ > 0 && !pool_.empty(); }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t free(std::uint32_t worker) const { return free_[worker]; }
  /// Those with a slot when the plan began, in an order drawn for this plan: whoever takes the first of equals
  /// has drawn fairly.
  [[nodiscard]] std::span<const std::uint32_t> workers() const { return workers_; }
  /// Indices of those that still wait, in pool order.
  [[nodiscard]] std::span<const std::uint32_t> pool() const { return pool_; }

  /// Whether the worker is open and the request not barred from it.
  [[nodiscard]] bool may_enter(std::uint32_t request, std::uint32_t worker) const;
  /// Prompt tokens; a negative estimate counts as none.
  [[nodiscard]] std::int64_t prompt(std::uint32_t request) const;
  /// The first `limit` of the pool that may enter the worker.
  void first_for(std::uint32_t worker, std::size_t limit, std::vector<std::uint32_t>& requests) const;

  void admit(std::uint32_t request, std::uint32_t worker);
  /// Nobody who waits may enter this worker: its slots are of no use to this plan.
  void close(std::uint32_t worker);

 private:
  std::span<const fleet::WaitingView> waiting_;
  std::vector<std::int64_t> free_;      ///< by worker
  std::vector<bool> allowed_by_first_;  ///< by worker: candidate of the pool's first request, mostly of all
  std::vector<std::uint32_t> workers_;
  std::vector<std::uint32_t> pool_;
  std::int64_t total_ = 0;
};

}  // namespace evenkeel::routing
