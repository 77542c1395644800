#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pressure/reading.hpp"

namespace evenkeel::pressure {

/// What a verdict rests on: of a reading, and of the differences to the readings before it. What is not known has its
/// reason in place of a figure.
struct Figures {
  Result<double> swap_used_percent;
  Result<double> iowait_percent;
  bool iowait_since_boot = false;       ///< there was no reading before: as in the first line of iostat(1)
  Result<double> memory_stall_percent;  ///< of the last 10 s, in which some task waited for memory
  Result<double> swap_ins_per_s;        ///< pages read back from swap
  Result<double> swap_outs_per_s;
};

/// Keeps of earlier readings what differences need. Not thread-safe.
class Meter {
 public:
  [[nodiscard]] Figures take(const Reading& reading);

 private:
  struct Pages {
    Time at;
    SwapPages counted;
  };
  std::optional<CpuTimes> cpu_;
  std::optional<Pages> pages_;
  Result<double> iowait_ = failure("no time has been counted yet");
  bool since_boot_ = false;
};

/// What shows that swap is not only full of what nobody asks for, but in the way.
enum class Evidence : std::uint8_t {
  thrash,  ///< tasks wait for memory, or pages come back from swap
  swap,    ///< the used share alone, as gateways of the lobes kind have it
};

struct Options {
  double swap_percent = 75;      ///< used swap over it: the box is short of memory
  double stall_percent = 10;     ///< of the time some task waits for memory: over it, it thrashes
  double swap_ins_per_s = 1000;  ///< pages that come back from swap: over it, it thrashes
  double iowait_percent = 50;    ///< over it the box is called busy; that is all that iowait does
  Evidence evidence = Evidence::thrash;
  /// What made it shed must have been gone for so long, uninterrupted, before it takes requests again.
  Duration hold = std::chrono::seconds(10);
};

enum class Mode : std::uint8_t { warm, busy, unknown };
[[nodiscard]] std::string_view to_string(Mode mode);

struct Verdict {
  Mode mode = Mode::unknown;  ///< what the box looks like from outside; decides nothing
  bool shed = false;          ///< it should take nothing new on
  std::string reason;         ///< what both rest on, in words
};

/// Only a memory fact of this box sheds: swap is used over its threshold, and (Evidence::thrash) it is in the way.
/// iowait does not, nor what a cgroup is charged with: one sleeping terminal can be charged with 97 % of a box's I/O
/// stalls while nothing is read. What is not known neither sheds nor is taken for calm: it is said. Not thread-safe.
///
/// It goes on to shed while swap is over 9/10 of its threshold and the evidence over a half of its own, and until
/// `hold` after that: a box on the edge changes its mind once in `hold` at most.
class Judge {
 public:
  explicit Judge(Options options) : options_(options) {}
  [[nodiscard]] Verdict judge(const Figures& figures, Time now);

 private:
  [[nodiscard]] bool short_of_memory(const Figures& figures, double swap_part, double evidence_part) const;
  [[nodiscard]] std::string reason_of(const Figures& figures, bool fact) const;

  Options options_;
  std::optional<Time> shed_as_of_;  ///< when what makes it shed was last seen; none: it does not shed
};

}  // namespace evenkeel::pressure
