#pragma once

#include <map>

#include "routing/policy.hpp"

namespace evenkeel::routing {

// The simple rules are also the destination rules of first come, first served that the barrier papers compare with
// (arXiv 2601.17855, 2605.06113): the oldest request is bound, when a slot is open, to a worker with an open slot, and
// every admission counts at once. With a single open slot they all coincide. Where they are not word for word those of
// the papers, their comment says so.

/// Any candidate, uniformly.
class RandomChoice final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "random"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

/// The candidate whose id follows the last one chosen for the same model, whatever it carries.
class RoundRobin final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "round_robin"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  // One place for all would let two interleaved models reset each other to their first worker.
  std::map<ModelId, WorkerId> last_;
};

/// The less loaded, by requests, of two candidates drawn without replacement (Mitzenmacher 2001). The barrier papers
/// draw with replacement, so that one time in as many as there are candidates theirs is a single random draw. Equals
/// are drawn, which is the first of two draws in law.
class PowerOfTwo final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "power_of_two"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

/// The candidate with the fewest requests in flight, ours and foreign: join the shortest queue. Equals are drawn,
/// independently of sizes.
class LeastRequests final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "least_requests"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

/// The candidate with the fewest tokens: KV held plus prompt tokens whose prefill is still owed. (Owed prompt
/// tokens count twice on purpose: as memory to come and as work before this request's first token. In a plan that fills
/// several slots the newcomers' prompts are owed, so it keeps them further apart than a rule of KV tokens alone would.)
class LeastTokens final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "least_tokens"; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;
};

/// The candidate whose prefix cache is expected to hold the longest beginning of the prompt, whatever it carries; of
/// equals the one with the fewest requests. Affinity alone: what least_wait is to be compared with.
class LongestPrefix final : public PerRequestPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "longest_prefix"; }
  [[nodiscard]] bool wants_hits() const override { return true; }

 protected:
  Choice choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                const fleet::FleetView& fleet, Random& random) override;

 private:
  std::vector<std::uint32_t> longest_;
};

}  // namespace evenkeel::routing
