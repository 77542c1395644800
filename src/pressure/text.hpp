#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "pressure/reading.hpp"

namespace evenkeel::pressure {

// The kernel's texts to what they say. Pure. What is missing or cannot be is an error that says what: never a zero,
// which would read as calm.

[[nodiscard]] Result<Memory> parse_memory(std::string_view meminfo);
[[nodiscard]] Result<Swap> parse_swap(std::string_view meminfo);
/// The line of all processors. Guest time is in user time already and is not added again.
[[nodiscard]] Result<CpuTimes> parse_cpu(std::string_view stat);
[[nodiscard]] Result<SwapPages> parse_swap_pages(std::string_view vmstat);
/// A file of /proc/pressure, or a *.pressure of a cgroup.
[[nodiscard]] Result<Stalls> parse_stalls(std::string_view text);
/// Where the process stands in cgroup v2, of /proc/self/cgroup: a path that begins with '/' and leads nowhere outside.
[[nodiscard]] Result<std::string> parse_own_cgroup(std::string_view text);
/// A file of one number of bytes, such as memory.current.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
/// The same, or "max": no limit.
[[nodiscard]] Result<std::optional<Bytes>> parse_limit(std::string_view text);

}  // namespace evenkeel::pressure
