#include "simulation/peer_split.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::simulation {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

Result<Box> parse_box(std::string_view text, std::size_t number) {
  Box box;
  if (trim(text) == "-") return box;
  for (const std::string_view part : split(text, ',')) {
    const auto rate = parse_double(trim(part));
    if (!rate || !bounds::box_rate.holds(*rate)) {
      return failure(
          fmt::format("--boxes: box {} has the rate \"{}\"; allowed are numbers from {} to {} by commas, in "
                      "tokens a second with one, two, ... requests running, or - for a box without an engine",
                      number, trim(part), bounds::box_rate.low, bounds::box_rate.high));
    }
    box.tokens_per_s.push_back(*rate);
  }
  if (auto ok = bounds::box_slots.check(fmt::format("--boxes: number of rates of box {}", number),
                                        static_cast<std::int64_t>(box.slots()));
      !ok) {
    return tl::unexpected(ok.error());
  }
  return box;
}

}  // namespace

Result<std::vector<Box>> parse_boxes(std::string_view text) {
  std::vector<Box> boxes;
  for (const std::string_view part : split(text, ';')) {
    auto box = parse_box(part, boxes.size() + 1);
    if (!box) return tl::unexpected(box.error());
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

double makespan_s(const Box& box, std::int64_t requests, double tokens) {
  if (requests == 0) return 0;
  if (box.slots() == 0) return never;
  // Equal requests that start together end together: what runs at a time is a full house, and then the rest.
  const auto slots = static_cast<std::int64_t>(box.slots());
  const auto house = [&](std::int64_t running) {
    return static_cast<double>(running) * tokens / box.tokens_per_s[static_cast<std::size_t>(running - 1)];
  };
  const std::int64_t rest = requests % slots;
  return static_cast<double>(requests / slots) * house(slots) + (rest > 0 ? house(rest) : 0);
}

Split best_split(std::span<const Box> boxes, std::int64_t requests, double tokens) {
  const auto count = static_cast<std::size_t>(requests) + 1;
  // Of the boxes so far: the earliest end of n requests, and how many of them the last of these boxes takes then.
  std::vector<double> end(count, never);
  end[0] = 0;
  std::vector<std::vector<std::int64_t>> last_takes;
  for (const Box& box : boxes) {
    std::vector<double> alone(count);
    for (std::size_t n = 0; n < count; ++n) alone[n] = makespan_s(box, static_cast<std::int64_t>(n), tokens);
    std::vector<double> with(count, never);
    std::vector<std::int64_t> takes(count, 0);
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t here = 0; here <= n; ++here) {
        const double ends = std::max(end[n - here], alone[here]);
        if (ends >= with[n]) continue;
        with[n] = ends;
        takes[n] = static_cast<std::int64_t>(here);
      }
    }
    end = std::move(with);
    last_takes.push_back(std::move(takes));
  }
  Split split;
  split.requests.resize(boxes.size());
  std::int64_t left = requests;
  for (std::size_t box = boxes.size(); box-- > 0;) {
    split.requests[box] = last_takes[box][static_cast<std::size_t>(left)];
    left -= split.requests[box];
  }
  split.tokens_per_s = static_cast<double>(requests) * tokens / end.back();
  return split;
}

double ceiling_of(std::span<const Box> boxes, std::span<const std::int64_t> requests, double tokens) {
  double end = 0;
  for (std::size_t box = 0; box < boxes.size(); ++box)
    end = std::max(end, makespan_s(boxes[box], requests[box], tokens));
  const auto all = static_cast<double>(std::accumulate(requests.begin(), requests.end(), std::int64_t{0}));
  return end > 0 ? all * tokens / end : 0;
}

}  // namespace evenkeel::simulation
