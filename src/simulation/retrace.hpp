#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace evenkeel::simulation {

/// What came of making the decisions of a recording again.
struct Retraced {
  std::string policy;            ///< of the last start
  std::uint64_t starts = 0;      ///< of the router, in this file
  std::uint64_t turns = 0;       ///< inputs that were worked off
  std::uint64_t placements = 0;  ///< recorded
  std::uint64_t refusals = 0;
  std::uint64_t same = 0;  ///< placements and refusals that came out as recorded, request and worker
  /// Where the first that did not stands, and how it differs; the turns after it are not looked at.
  std::optional<std::string> difference;
};

/// Feeds a recording (dispatch::Recorder) to the policy it names, in a dispatcher of its own, in virtual time: the same
/// inputs in the same order with the same readings of the books. `progress` is told of lines now and then. Errors: a
/// file that cannot be read, a line that is no turn or missing, by its number.
[[nodiscard]] Result<Retraced> retrace(const std::string& path,
                                       const std::function<void(std::uint64_t)>& progress = {});

}  // namespace evenkeel::simulation
