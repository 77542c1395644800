#pragma once

#include <cstdint>

namespace evenkeel::forecast::testing {

/// Calls of operator new so far in this program.
[[nodiscard]] std::uint64_t allocations();

}  // namespace evenkeel::forecast::testing
