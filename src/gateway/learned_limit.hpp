#pragma once

#include <cstdint>
#include <optional>

#include "engines/adapter.hpp"

namespace evenkeel::gateway {

/// How many requests one worker may have in flight: what the operator gave, else what was measured, else what its
/// engine tells, else the default of its kind, but for the first lowered when the engine preempts and raised again, one
/// by one, while it does not.
class LearnedLimit {
 public:
  LearnedLimit(std::int64_t limit, bool given) : limit_(limit), ceiling_(limit), given_(given) {}

  [[nodiscard]] std::int64_t value() const { return limit_; }
  /// Whether somebody said it: the operator, a measurement or the engine. Else it is the default of the engine's kind.
  [[nodiscard]] bool known() const { return given_ || measured_ || told_; }
  /// The operator's word: never learned from here on.
  void give(std::int64_t limit) { *this = LearnedLimit(limit, true); }
  /// The default of a kind that has been found out; no effect on a limit that was given.
  void assume(std::int64_t limit);
  /// What `evenkeel calibrate` found out; nothing: it counts no more, and what it stood in for does again. No effect on
  /// a limit that was given.
  void measured(std::optional<std::int64_t> slots);
  /// What the worker reports of itself. True if the limit changed; `preempted` says that this is why.
  bool learn(const engines::Report& report, bool& preempted);

 private:
  std::int64_t limit_;    ///< in force
  std::int64_t ceiling_;  ///< what it was learned down from
  bool given_;
  bool measured_ = false;
  std::int64_t learned_ = 0;  ///< while measured_: what that stands in for
  bool told_ = false;
  std::optional<double> preemptions_;
};

}  // namespace evenkeel::gateway
