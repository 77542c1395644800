#pragma once

#include <cstdint>

namespace evenkeel::engine::testing {

/// Calls of operator new in this process so far.
[[nodiscard]] std::int64_t allocations();

}  // namespace evenkeel::engine::testing
