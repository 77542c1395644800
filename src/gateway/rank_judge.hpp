#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"

namespace evenkeel::gateway {

/// Judges whether an engine runs requests on the data-parallel ranks that they are addressed at, by comparing what it
/// reports of each rank with the leases of this router. An engine that ignores the address spreads them by a rule of
/// its own, and then two things are seen at once: some ranks report less than what we are sure to have there, others
/// more than what we can have there. Neither alone says anything: less may be answers that clients are slow to read,
/// more may be requests of others. So a report counts for as many requests as
///
///   moved = min(sum over ranks of (sure - reported)+, sum over ranks of (reported - possible)+)
///
/// and speaks at all only if an engine that spread them evenly would show some (the same with the mean of `reported`).
/// `sure` are leases open all the time from `lag` before the report was asked for until it was received, `possible`
/// those open at any time in it. Reports fade, the last twenty matter. Pure; linear in the number of ranks.
class RankJudge {
 public:
  struct Rank {
    std::uint64_t begun = 0;  ///< leases ever, read after the report was received
    std::uint64_t ended = 0;
    double reported = 0;  ///< running and waiting
  };

  /// One report: of the same number of ranks as before, times not falling. Another number of ranks begins anew.
  void see(Time asked, Time received, std::span<const Rank> ranks);

  /// True: requests run where they are sent; false: they do not; nothing: too little has been seen that tells the two
  /// apart.
  [[nodiscard]] std::optional<bool> honoured() const { return honoured_; }
  /// How many reports spoke, and the share of misplaced requests that they showed of those they would show if the
  /// address were ignored.
  [[nodiscard]] int reports() const { return reports_; }
  [[nodiscard]] double share() const { return weight_ > 0 ? moved_ / weight_ : 0; }

  /// Gauges lag by a step, a request must first be tokenized: long enough for both, in nearly all reports.
  static constexpr Duration lag = std::chrono::seconds(1);

 private:
  struct Books {
    Time at{};
    std::vector<std::uint64_t> begun;
    std::vector<std::uint64_t> ended;
  };
  void remember(Time received, std::span<const Rank> ranks);
  void weigh(const Books& before, std::span<const Rank> ranks);

  std::deque<Books> history_;  // by time; the first is the last one at least `lag` before the next report
  int reports_ = 0;
  double weight_ = 0;
  double moved_ = 0;
  std::optional<bool> honoured_;
};

}  // namespace evenkeel::gateway
