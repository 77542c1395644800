#include "fleet/boxes.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::fleet {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

Result<Box> parse_box(std::string_view text) {
  Box box;
  if (trim(text) == "-") return box;
  for (const std::string_view part : split(text, ',')) {
    const auto rate = parse_double(trim(part));
    if (!rate || !(*rate >= least_box_rate && *rate <= most_box_rate)) {
      return failure(
          fmt::format("has the rate \"{}\"; allowed are numbers from {} to {} by commas, in tokens a second with one, "
                      "two, ... requests running, or - for a box without an engine",
                      trim(part), least_box_rate, most_box_rate));
    }
    box.tokens_per_s.push_back(*rate);
    if (box.slots() > most_box_slots) return failure(fmt::format("has over {} rates", most_box_slots));
  }
  return box;
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

double last_end_s(const Box& box, std::span<const BoxRequest> requests) {
  if (requests.empty()) return 0;
  if (box.slots() == 0) return never;
  // All that run advance alike, so each ends when the progress of a running one has grown by its tokens.
  std::priority_queue<double, std::vector<double>, std::greater<>> ends_at;
  double progress = 0;
  double now = 0;
  std::size_t next = 0;
  while (next < requests.size() || !ends_at.empty()) {
    while (next < requests.size() && requests[next].at_s <= now && ends_at.size() < box.slots()) {
      ends_at.push(progress + requests[next++].tokens);
    }
    if (ends_at.empty()) {
      now = requests[next].at_s;
      continue;
    }
    const double speed = box.tokens_per_s[ends_at.size() - 1] / static_cast<double>(ends_at.size());
    const double end = now + (ends_at.top() - progress) / speed;
    const bool comes_first = next < requests.size() && ends_at.size() < box.slots() && requests[next].at_s > now &&
                             requests[next].at_s < end;
    if (comes_first) {
      progress += (requests[next].at_s - now) * speed;
      now = requests[next].at_s;
    } else {
      progress = ends_at.top();
      now = end;
      ends_at.pop();
    }
  }
  return now;
}

double earliest_end_s(std::span<const Box> boxes, std::span<const BoxRequest> requests) {
  double fastest = 0;
  for (const Box& box : boxes) {
    if (box.slots() > 0) fastest += *std::max_element(box.tokens_per_s.begin(), box.tokens_per_s.end());
  }
  double end = 0;
  double tokens = 0;
  for (std::size_t i = requests.size(); i-- > 0;) {
    tokens += requests[i].tokens;
    end = std::max(end, requests[i].at_s + (tokens > 0 ? tokens / fastest : 0));
  }
  return end;
}

}  // namespace evenkeel::fleet
