#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "report/numbers.hpp"

namespace evenkeel::simulation {

/// "1 request", "12,000 requests"
[[nodiscard]] inline std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", report::grouped(count), thing, count == 1 ? "" : "s");
}

}  // namespace evenkeel::simulation
