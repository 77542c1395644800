#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "affinity/block_chain.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "fleet/books.hpp"
#include "fleet/outcome.hpp"
#include "fleet/view.hpp"

namespace evenkeel::dispatch {

/// Workers a request must not go to, because they failed it. Bounded; more attempts than this are not made.
class Excluded {
 public:
  void add(WorkerId id) {
    if (count_ < ids_.size() && !contains(id)) ids_[count_++] = id;
  }
  [[nodiscard]] bool contains(WorkerId id) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (ids_[i] == id) return true;
    }
    return false;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::span<const WorkerId> ids() const { return std::span(ids_).first(count_); }

 private:
  std::array<WorkerId, 8> ids_{};
  std::size_t count_ = 0;
};

/// Tokens at a prompt's beginning that workers themselves say they hold. Of those not named nothing is known.
using ToldHits = std::vector<std::pair<WorkerId, Tokens>>;

/// The place in the waiting pool of a request that had one: what it was sent to gave it back unserved.
struct Returned {
  RequestId id;    ///< of the lease that ended so
  Time arrived{};  ///< first
};

/// What the dispatcher is asked to place.
struct Submission {
  ModelId model;
  Tokens prompt_tokens;       ///< estimate
  Bytes bytes;                ///< kept while waiting; counts against the pool
  std::int64_t priority = 0;  ///< lower is earlier
  ClientKey client;
  std::uint64_t affinity_key = 0;                       ///< 0 = none
  std::uint64_t prompt_key = 0;                         ///< hash of the prompt or its template, for forecasts; 0 = none
  std::shared_ptr<const affinity::PromptChain> prefix;  ///< for a policy that wants_hits(); none: nothing is known
  std::shared_ptr<const ToldHits> told_hits;  ///< for such a policy: counts more than what `prefix` makes probable
  Excluded excluded;
  int attempt = 1;
  bool from_peer = false;   ///< another router sent it: it goes to no other's box
  bool at_once = false;     ///< it does not wait: without an open slot it is refused as no_slot
  bool never_shed = false;  ///< it is served while all else is shed
  /// It goes on as if it had never left: first among those of its priority, by when it came, and at no new charge to
  /// its client. An id that was never given out, or that waits, counts for nothing.
  std::optional<Returned> returned{};
  // For the redline alone; a policy sees none of it.
  Tokens output_bound;          ///< that the client set, of one sequence; zero: none
  std::int64_t sequences = 1;   ///< answers asked for
  std::optional<bool> heavy{};  ///< whether its answer will be long, if the client says
};

struct Granted {
  fleet::Lease lease;
  fleet::Receipt receipt;
};

struct Refused {
  fleet::Refusal why = fleet::Refusal::no_worker;
  Duration retry_after{};  ///< from the measured drain; over 0 and under 60 s
};

struct Queued {
  RequestId id;  ///< for cancel()
};

using Decision = std::variant<Granted, Queued, Refused>;

/// Told once of what became of a request that had to wait: by whichever thread ran the step, outside the
/// dispatcher's lock. Must not call the dispatcher from inside.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void granted(Granted granted) = 0;
  virtual void refused(Refused refused) = 0;
};

}  // namespace evenkeel::dispatch
