#pragma once

#include <map>
#include <optional>
#include <vector>

#include "routing/policy.hpp"

namespace evenkeel::routing {

/// Even KV load under a bound on waiting, without any forecast. Each open slot has a gap: what its worker lacks to the
/// mean of the others. The lightest open worker is served first, with the waiting request that fits its gap best,
/// where having been overtaken counts in a request's favour; a request overtaken as often as may be goes next. docs/
/// balance.md explains it on a page.
///
/// Loads are times: fixed + token * KV tokens of each worker, in tokens of the fastest one; with no step times known,
/// plain tokens.
///
/// A request that found q others waiting is overtaken at most D(q) = 9 sqrt(q) + 4 times, and then by those alone
/// that became due before it. Cost of a placement: O(workers + waiting).
class Balance final : public Policy {
 public:
  struct Options {
    /// Whether a slot may stay open for a moment when all that waits would raise the barrier by more than the slot is
    /// worth.
    bool hold = true;
  };
  explicit Balance(Options options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "balance"; }
  [[nodiscard]] bool plans_jointly() const override { return true; }
  [[nodiscard]] bool bounds_overtaking() const override { return true; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
            std::vector<fleet::Placement>& placements) override;
  void ended(const fleet::LeaseSummary& summary, Time now) override;

  /// D(q), in overtakings.
  [[nodiscard]] static double deadline(std::uint32_t found_waiting);

 private:
  /// One worker during a plan. All loads are in tokens of the fastest worker.
  struct Berth {
    double load = 0;         ///< its step time above the least fixed part
    double weight = 1;       ///< of one token here
    double step_s = 0;       ///< its step time as the plan began; 0 = not known
    std::int64_t open = 0;   ///< slots
    bool passed_by = false;  ///< held, or of no use to anyone left in this plan
  };
  /// One waiting request during a plan.
  struct Guest {
    double prompt = 0;
    double overtaken = 0;
    double deadline = 0;
    bool placed = false;
  };
  struct Choice {
    std::uint32_t guest = 0;
    std::uint32_t berth = 0;
    std::string_view reason;
    double gap = 0;
  };
  /// What one model's traffic has taught.
  struct Learned {
    double mean_prompt = 0;  ///< of admitted requests; 0 = none yet
    double bias = 0;         ///< mean of gap - admitted prompt: how much a gap to the mean exceeds what should fill it
    double patience = 1.75;  ///< weight of having been overtaken, against misfit
  };
  /// When a worker last lost a request, and since when it has an open slot.
  struct Departures {
    std::optional<Time> last;
    std::optional<Time> open_since;
  };

  void set_up(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now);
  /// The next request to place and where; nothing when no open slot is left that somebody could use.
  [[nodiscard]] std::optional<Choice> choose(std::span<const fleet::WaitingView> waiting, const Learned& learned,
                                             Random& random);
  [[nodiscard]] std::optional<std::uint32_t> most_pressing(std::span<const fleet::WaitingView> waiting,
                                                           double mean_prompt) const;
  [[nodiscard]] std::optional<std::uint32_t> best_berth(std::uint32_t guest, const fleet::WaitingView& request,
                                                        const Learned& learned, Random& random) const;
  [[nodiscard]] std::optional<std::uint32_t> lightest_berth(Random& random) const;
  [[nodiscard]] std::optional<std::uint32_t> best_guest(std::uint32_t berth,
                                                        std::span<const fleet::WaitingView> waiting,
                                                        const Learned& learned) const;
  void fill_virtually(double mean_prompt);
  [[nodiscard]] double filled_but_one(std::uint32_t berth) const;
  [[nodiscard]] double gap_to_mean(std::uint32_t berth) const;
  [[nodiscard]] double gap(std::uint32_t berth, const Learned& learned) const;
  [[nodiscard]] double share_full_beside(std::uint32_t berth) const;
  [[nodiscard]] bool better_held(const Choice& choice, const fleet::FleetView& fleet, Time now) const;
  void admit(const Choice& choice, const fleet::FleetView& fleet, Learned& learned, Time now);
  Departures& departures_of(WorkerId worker);

  const Options options_;
  std::map<ModelId, Learned> learned_;
  std::vector<Departures> departures_;  ///< by worker id
  double departure_gap_s_ = 0;          ///< mean time between two departures of one worker; 0 = not known

  // Of the plan being made.
  std::vector<Berth> berths_;
  std::vector<Guest> guests_;
  std::int64_t open_ = 0;     ///< open slots
  std::size_t unplaced_ = 0;  ///< guests still waiting
  double slot_fill_ = 0;      ///< expected prompt tokens an open slot still gets in this plan
  double filled_sum_ = 0;     ///< of all loads with their open slots filled so
  double full_ = 0;           ///< workers without an open slot
  double token_s_ = 0;        ///< step time that a token adds at the fastest worker; 0 = not known
  bool reserved_ = false;     ///< a slot is being kept for a giant
};

}  // namespace evenkeel::routing
