#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "fleet/books.hpp"
#include "fleet/rate_curve.hpp"

namespace evenkeel::fleet {

/// One request in service, as a forecast sees it.
struct RunningView {
  RequestId id;
  Tokens prompt_tokens;
  std::int64_t generated = 0;    ///< output tokens so far: its age
  std::uint64_t prompt_key = 0;  ///< hash of the prompt or its template; 0 = none
  ModelId model;
};

/// Which part of a request a worker does: all of it, the prefill alone, whose KV another then takes over, or the decode
/// alone (a decode engine can prefill, too, where nobody has done it before).
enum class Role : std::uint8_t { both, prefill, decode };
inline constexpr std::array all_roles = {Role::both, Role::prefill, Role::decode};
[[nodiscard]] constexpr std::string_view to_string(Role role) {
  constexpr std::array<std::string_view, 3> names = {"both", "prefill", "decode"};
  return names[static_cast<std::size_t>(role)];
}
/// Nothing for a word that names none.
[[nodiscard]] constexpr std::optional<Role> role_named(std::string_view word) {
  for (const Role role : all_roles) {
    if (to_string(role) == word) return role;
  }
  return std::nullopt;
}

/// Which kinds of workers a request may go to: those of this router, and those that are another router's box.
struct Reach {
  bool own = true;
  bool peers = true;
  [[nodiscard]] constexpr bool covers(bool peer) const { return peer ? peers : own; }
  [[nodiscard]] constexpr bool meets(Reach other) const { return (own && other.own) || (peers && other.peers); }
  friend constexpr bool operator==(const Reach&, const Reach&) = default;
};

/// How long a decode step of a worker lasts: fixed_s + token_s * KV tokens it holds (arXiv 2601.17855, the local
/// time of the barrier model). All zero: not known.
struct StepTime {
  double fixed_s = 0;
  double token_s = 0;
  [[nodiscard]] bool known() const { return token_s > 0; }
  [[nodiscard]] double of(double kv_tokens) const { return fixed_s + token_s * kv_tokens; }
};

/// One worker as a policy sees it, at one instant. There is no output length anywhere in here, nor a bound on
/// one: a policy that wants lengths asks a forecast.
struct WorkerView {
  WorkerId id;
  std::string_view name;
  std::int64_t max_in_flight = 0;
  std::int64_t slots = 0;       ///< how many it serves at once, if more may be in flight; 0: max_in_flight
  Load load;                    ///< ours
  double foreign_requests = 0;  ///< what the engine reports beyond ours
  Tokens foreign_tokens;
  Tokens kv_capacity;               ///< zero if the engine does not tell
  const RateCurve* rate = nullptr;  ///< learned or given; never null
  double mean_output = 0;           ///< learned mean output tokens of requests here, fleet-wide prior if none
  /// Summed ages in seconds of ours that show no token yet: answers that come whole, and prompts being computed. Where
  /// others of ours show theirs, the age of the mean is taken for each.
  double silent_s = 0;
  Duration signal_age{};  ///< age of the engine's last report; negative if it never reported
  StepTime step_time;
  std::uint32_t group = 0;  ///< its sync group, whose workers make each step together; 0: it steps by itself
  bool peer = false;        ///< it is another router's box
  Role role = Role::both;   ///< of the prefill role are all workers of a view, or none
  std::span<const RunningView> running;  ///< ours; filled only for a policy that wants_running()

  /// Requests there, ours and foreign.
  [[nodiscard]] double requests() const { return static_cast<double>(load.in_flight) + foreign_requests; }
  [[nodiscard]] std::int64_t free_slots() const { return max_in_flight - load.in_flight; }
  [[nodiscard]] std::int64_t served_at_once() const { return slots > 0 ? slots : max_in_flight; }
  /// Of the free slots, those whose requests would be served at once: with others there, too, if `slots` says how many
  /// that are. What else is free is for requests that are sent ahead.
  [[nodiscard]] std::int64_t open_slots() const {
    if (slots == 0) return std::max<std::int64_t>(0, free_slots());
    const auto open = static_cast<std::int64_t>(std::floor(static_cast<double>(slots) - requests() + 1e-9));
    return std::clamp<std::int64_t>(open, 0, std::max<std::int64_t>(0, free_slots()));
  }
};

struct FleetView {
  std::span<const WorkerView> workers;
  double prompt_weight = 0.2;  ///< what a prompt token to be computed counts, in output tokens
  std::int64_t step = 0;       ///< decode steps the workers have made together; 0 if nobody counts them
  ModelId model;               ///< that the waiting ask for; all of these workers serve it
};

/// One waiting request as a policy sees it. `candidates` are indices into FleetView::workers, ascending; all are
/// routable, allowed for this request and had a free slot when the plan began.
struct WaitingView {
  RequestId id;
  ModelId model;
  Tokens prompt_tokens;            ///< estimated
  std::uint64_t affinity_key = 0;  ///< hash of session or user; 0 = none
  Time arrived{};
  std::span<const std::uint32_t> candidates;
  /// By FleetView::workers: tokens at the prompt's beginning that are expected in the prefix cache there, fewer than
  /// the prompt has. Told only to a policy that wants_hits(); empty: nothing is known.
  std::span<const Tokens> hits;
  std::uint64_t prompt_key = 0;  ///< as of RunningView
  std::int64_t priority = 0;     ///< lower is earlier; the waiting come in its order
  // The next two are told only to a policy that bounds overtaking itself.
  std::uint32_t found_waiting = 0;  ///< how many stood before it in the pool's order when it came
  std::uint32_t overtaken = 0;      ///< how many from behind it in that order entered a worker it could have used
  Reach reach;                      ///< where it might ever go; `candidates` says where it may now

  [[nodiscard]] Tokens hit(std::uint32_t worker) const { return hits.empty() ? Tokens() : hits[worker]; }
  /// Prompt tokens that are expected to be computed there.
  [[nodiscard]] Tokens to_compute(std::uint32_t worker) const { return prompt_tokens - hit(worker); }
};

/// A policy's wish: this request to this worker. `reason` is a literal from the policy's closed list.
struct Placement {
  std::uint32_t request = 0;  ///< index into `waiting`
  std::uint32_t worker = 0;   ///< index into `fleet.workers`
  std::string_view reason;
  double score = 0;  ///< of the chosen worker, in the policy's own unit
  std::uint32_t considered = 0;
};

/// What the answer says about how its worker was chosen. Views are of strings that live as long as the process.
struct Receipt {
  std::string_view policy;
  std::string_view reason;
  std::uint32_t candidates = 0;
  Duration waited{};
  Duration signal_age{};  ///< as of WorkerView
  int attempt = 1;
  /// Tokens of the prompt that are expected in the worker's prefix cache; nothing where that was not looked up.
  std::optional<Tokens> expected_hit;
  std::string_view scarcest;  ///< resource of its worker by the redline; empty: it was not asked
  double left = 0;            ///< share of that which is left with this request there
  std::string_view route;     ///< why here or at a peer, as peers::reason_of() names it; empty where there are no peers
};

}  // namespace evenkeel::fleet
