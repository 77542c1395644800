#pragma once

#include <cstdint>
#include <vector>

#include "redline/headroom.hpp"
#include "routing/policy.hpp"

namespace evenkeel::routing {

/// Samples d of the candidates without replacement and takes the one whose scarcest resource is the least scarce after
/// the projected admission: max over the sample of min over r of (headroom_r - demand_r) / capacity_r, over KV memory,
/// slots and outstanding prefill tokens. Placements count at once (the books are the router's own, and a plan is
/// charged as it is made), which is what debits do for a router that hears of its placements late. d of all is the
/// argmax, for comparison: on a view that stands still all who come go to one worker.
class Headroom final : public PerRequestPolicy {
 public:
  struct Options {
    std::size_t sample = 2;                 ///< d; 0 = all candidates
    std::int64_t output_tokens = 0;         ///< a request's footprint beyond its prompt; 0 = half the mean output
    std::int64_t prefill_capacity = 65536;  ///< prompt tokens to be computed that a worker may owe
    bool argmax = false;                    ///< named so
  };
  explicit Headroom(Options options) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return options_.argmax ? "headroom_argmax" : "headroom"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  [[nodiscard]] redline::Dominant after(const fleet::WaitingView& request, const fleet::WorkerView& worker,
                                        std::uint32_t index) const;

  Options options_;
  std::vector<std::uint32_t> sampled_;
};

}  // namespace evenkeel::routing
