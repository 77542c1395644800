#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "fleet/rate_curve.hpp"
#include "routing/policy.hpp"

namespace evenkeel::simulation {

/// A routing policy as `serve` has it, asked about workers of which the memory left is all that differs: `headroom` and
/// `headroom_argmax` on a snapshot. Memory is told in tokens of 320 KiB; slots and prefill are no matter.
class SnapshotPolicy {
 public:
  /// Throws std::invalid_argument if there is no such policy.
  SnapshotPolicy(std::string_view policy, double capacity_gb, std::size_t workers);
  SnapshotPolicy(const SnapshotPolicy&) = delete;
  SnapshotPolicy& operator=(const SnapshotPolicy&) = delete;

  /// One placement by headroom left in GB, as many as there are workers.
  [[nodiscard]] std::size_t choose(std::span<const double> left_gb, Random& random);

 private:
  std::unique_ptr<routing::Policy> policy_;
  fleet::RateCurve rate_;
  std::vector<fleet::WorkerView> workers_;
  std::vector<std::uint32_t> candidates_;
  std::vector<Tokens> hits_;
  std::vector<fleet::Placement> placements_;
};

}  // namespace evenkeel::simulation
