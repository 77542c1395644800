#pragma once

#include "routing/policy.hpp"

namespace evenkeel::routing {

/// Outstanding tokens over learned rate, counted for everyone: the candidate where this request's own wait and what
/// its work adds to each request already there come to the least. With n requests open (ours and foreign), mean output
/// m, prefill owed Q, this request's prompt p, of which h tokens are expected in the worker's prefix cache, and prompt
/// weight w, its own work is o = m + w (p - h) output tokens, and
///
///     cost = (n m + w Q + o + n o) / rate(n + 1)
///
/// Without the last term each request would follow its own interest alone: the fastest worker is then filled until it
/// is as slow as the slowest one idle, and all pay (the gap between selfish and optimal routing; Roughgarden and
/// Tardos 2002). The rate is taken at n + 1 for all terms: a difference of two learned rates is mostly noise.
///
/// A hit is thus worth the time that computing it would take, to this request and to each of those whose steps it would
/// lengthen, and load costs what it always does: neither can be ignored, and a worker that holds what everybody asks
/// for is left for another as soon as its row costs more than computing the prefix once more there.
///
/// The remaining output of a running request is taken as m whatever it has produced (lengths are unknown and their
/// law is close to memoryless or heavier). A worker of unknown rate is given the mean curve of those known, so it
/// is tried and then known; with no rate known at all the rule is outstanding tokens alone.
class LeastWait final : public PerRequestPolicy {
 public:
  /// Without `hits` all prompts are taken to be computed whole.
  explicit LeastWait(bool hits = true) : hits_(hits) {}
  [[nodiscard]] std::string_view name() const override { return "least_wait"; }
  [[nodiscard]] bool wants_hits() const override { return hits_; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  bool hits_;
};

}  // namespace evenkeel::routing
