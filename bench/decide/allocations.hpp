#pragma once

#include <cstdint>

namespace evenkeel::bench {

/// Calls of operator new by this program so far.
[[nodiscard]] std::uint64_t allocations();

}  // namespace evenkeel::bench
