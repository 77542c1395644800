#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fleet/view.hpp"

namespace evenkeel::routing {

/// The load of every worker now and at each of the next steps, as far as it is known: arXiv 2601.17855, section on
/// the lookahead objective; arXiv 2605.06113, BR-H. In whole tokens.
///
///     row(g)[h] = foreign tokens + sum over our requests that are still there at offset h of (their tokens now + h)
///
/// A request that nobody foretells to leave stays; foreign tokens stay as they are. peak()[h] is the largest of all
/// workers, the load that sets the pace of a barrier.
class Projection {
 public:
  /// Offsets 0 to `window`. `leaves_at(request)` gives the first offset, from 1 on, at which a running request is
  /// gone; more than `window`: it stays. O(running + workers * window); with window 0 nobody is asked.
  template <class LeavesAt>
  void build(const fleet::FleetView& fleet, std::int64_t window, LeavesAt leaves_at);

  [[nodiscard]] std::size_t workers() const { return workers_; }
  [[nodiscard]] std::size_t offsets() const { return offsets_; }
  [[nodiscard]] std::span<const std::int64_t> row(std::uint32_t worker) const {
    return std::span(loads_).subspan(worker * offsets_, offsets_);
  }
  [[nodiscard]] std::span<const std::int64_t> peak() const { return peak_; }
  /// The smallest margin peak - row over all offsets.
  [[nodiscard]] std::int64_t slack(std::uint32_t worker) const;
  /// `tokens + growth * offset` more at every offset.
  void add(std::uint32_t worker, std::int64_t tokens, std::int64_t growth = 0);
  /// Undoes an add(); `peak_before` is the peak that was before it.
  void take_back(std::uint32_t worker, std::int64_t tokens, std::int64_t growth,
                 std::span<const std::int64_t> peak_before);

 private:
  void begin(std::size_t workers, std::int64_t window);
  void begin_row();
  void fill_row(std::uint32_t worker, std::int64_t tokens, std::int64_t requests);

  std::size_t workers_ = 0;
  std::size_t offsets_ = 1;
  std::vector<std::int64_t> loads_;  ///< by worker, then offset
  std::vector<std::int64_t> peak_;
  std::vector<std::int64_t> tokens_leave_;  ///< of the row being built, by offset; the last place is never read
  std::vector<std::int64_t> requests_leave_;
};

template <class LeavesAt>
void Projection::build(const fleet::FleetView& fleet, std::int64_t window, LeavesAt leaves_at) {
  begin(fleet.workers.size(), window);
  for (std::uint32_t g = 0; g < fleet.workers.size(); ++g) {
    const fleet::WorkerView& worker = fleet.workers[g];
    begin_row();
    if (window > 0) {
      for (const fleet::RunningView& request : worker.running) {
        const std::int64_t offset = leaves_at(request);
        if (offset > window) continue;
        tokens_leave_[static_cast<std::size_t>(offset)] += request.prompt_tokens.value() + request.generated;
        ++requests_leave_[static_cast<std::size_t>(offset)];
      }
    }
    fill_row(g, (worker.load.kv_tokens() + worker.foreign_tokens).value(), worker.load.in_flight);
  }
}

}  // namespace evenkeel::routing
