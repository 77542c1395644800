#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::simulation {

/// What came of making the decisions of one start of the router again.
struct RetracedStart {
  std::string policy;
  std::uint64_t turns = 0;       ///< inputs that were worked off
  std::uint64_t placements = 0;  ///< recorded
  std::uint64_t refusals = 0;
  std::uint64_t same = 0;  ///< placements and refusals that came out as recorded, request and worker
  /// Where the first that did not stands, and how it differs; the turns after it are not looked at.
  std::optional<std::string> difference;
  /// Where a line is missing or only half there, as after a crash or with a full disk; what follows it rests on it and
  /// is not looked at.
  std::optional<std::string> lost;
};

/// Feeds a recording (dispatch::Recorder) to the policy it names, in a dispatcher of its own for each start, in virtual
/// time: the same inputs in the same order with the same readings of the books. `progress` is told of turns now and
/// then. Gives the starts in their order, at least one. Errors, by the line's number: a file that cannot be read, a
/// line that is none of a recording, a turn that this version could not have written.
[[nodiscard]] Result<std::vector<RetracedStart>> retrace(const std::string& path,
                                                         const std::function<void(std::uint64_t)>& progress = {});

}  // namespace evenkeel::simulation
