#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace evenkeel::pressure {

/// Of /proc/meminfo.
struct Memory {
  Bytes total;
  Bytes available;
};
struct Swap {
  Bytes total;  ///< 0 = the box has none
  Bytes free;
  /// 0 of a box without swap: there is nothing that could be used.
  [[nodiscard]] double used_percent() const {
    return total == Bytes(0) ? 0 : 100 * (1 - free.as_double() / total.as_double());
  }
};

/// Clock ticks of all processors since the boot, of /proc/stat.
struct CpuTimes {
  std::uint64_t iowait = 0;
  std::uint64_t total = 0;
};

/// Pages since the boot, of /proc/vmstat.
struct SwapPages {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

/// Pressure stall information (Documentation/accounting/psi.rst of Linux): shares of the last 10, 60 and 300 s in
/// percent, and all of it since the boot.
struct Stall {
  double avg10 = 0;
  double avg60 = 0;
  double avg300 = 0;
  Duration total{};
};
struct Stalls {
  Stall some;                 ///< at least one task waited for the resource
  std::optional<Stall> full;  ///< all that had something to do waited; older kernels do not have it of processors
};

/// The cgroup v2 that this process is in. The root cgroup has no account of its own.
struct OwnCgroup {
  std::string path;  ///< as /proc/self/cgroup says it
  Result<Stalls> memory;
  Result<Stalls> io;
  Result<Bytes> used;
  Result<std::optional<Bytes>> limit;  ///< none: there is no limit
  Result<Bytes> swap_used;
  Result<std::optional<Bytes>> swap_limit;
};

/// What a box said of itself at one instant. What could not be read has the reason in place of a value.
struct Reading {
  Time at;
  Result<Memory> memory;
  Result<Swap> swap;
  Result<CpuTimes> cpu;
  Result<SwapPages> swap_pages;
  Result<Stalls> memory_stalls;
  Result<Stalls> io_stalls;
  Result<Stalls> cpu_stalls;
  Result<OwnCgroup> own;
};

}  // namespace evenkeel::pressure
