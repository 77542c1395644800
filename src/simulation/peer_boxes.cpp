#include "simulation/peer_boxes.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::simulation {

Result<std::vector<Box>> parse_boxes(std::string_view text) {
  std::vector<Box> boxes;
  for (const std::string_view part : split(text, ';')) {
    auto box = fleet::parse_box(part);
    if (!box) return failure(fmt::format("--boxes: box {} {}", boxes.size() + 1, box.error().message));
    boxes.push_back(std::move(*box));
    if (auto ok = bounds::boxes.check("--boxes: number of boxes", static_cast<std::int64_t>(boxes.size())); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  if (std::all_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.slots() == 0; })) {
    return failure("--boxes: no box has an engine");
  }
  return boxes;
}

}  // namespace evenkeel::simulation
