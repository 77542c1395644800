#include "load/box_report.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "load/box_rates.hpp"

namespace evenkeel::load {

namespace {

constexpr std::size_t most_exact_requests = 2048;
constexpr std::size_t most_exact_boxes = 9;
constexpr double burst_part = 0.01;  // of the run, in which the requests of a burst come

/// One box of the report: what came to it, and how it serves.
struct Lane {
  std::string name;
  fleet::Box box;
  std::vector<std::int64_t> unseen;
  std::vector<const RequestRecord*> served;  // completed, in the order of their arrivals
};

/// Lanes by name, with what each completed.
std::vector<Lane> lanes_of(std::span<const RequestRecord> records, std::span<const std::string> workers) {
  std::vector<std::size_t> order(workers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return workers[a] < workers[b]; });
  std::vector<std::size_t> lane_of(workers.size());
  std::vector<Lane> lanes(workers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    lane_of[order[i]] = i;
    lanes[i].name = workers[order[i]];
  }
  for (const RequestRecord& record : records) {
    if (record.worker == no_worker || record.ending != Ending::completed) continue;
    lanes[lane_of[record.worker]].served.push_back(&record);
  }
  for (Lane& lane : lanes) {
    std::stable_sort(lane.served.begin(), lane.served.end(),
                     [](const RequestRecord* a, const RequestRecord* b) { return a->due < b->due; });
  }
  return lanes;
}

/// Gives the lanes their known rates; a known box that served nothing is a lane, too.
Result<void> set_known(std::vector<Lane>& lanes, std::span<const KnownBox> known) {
  if (known.front().name.empty()) {
    if (known.size() != lanes.size()) {
      return failure(
          fmt::format("--boxes gives {} boxes, and the answers name {} workers: give each box the name of "
                      "its worker, NAME=RATE,RATE",
                      known.size(), lanes.size()));
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].box = known[i].box;
    return {};
  }
  for (const Lane& lane : lanes) {
    const auto same = [&](const KnownBox& box) { return box.name == lane.name; };
    if (std::none_of(known.begin(), known.end(), same)) {
      return failure(fmt::format("--boxes does not name the worker {}, which served requests", lane.name));
    }
  }
  for (const KnownBox& box : known) {
    const auto at = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) { return lane.name == box.name; });
    if (at != lanes.end()) {
      at->box = box.box;
    } else {
      lanes.push_back({box.name, box.box, {}, {}});
    }
  }
  std::sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.name < b.name; });
  return {};
}

/// A stream's tokens lie between its first event with content and its last; the first one took as long as the others.
std::vector<Served> served_by(const Lane& lane) {
  std::vector<Served> served;
  for (const RequestRecord* record : lane.served) {
    if (!record->first_content || record->output.value() < 2) continue;
    const auto tokens = static_cast<double>(record->output.value());
    const double first = to_seconds(*record->first_content);
    const double last = to_seconds(record->last_content);
    served.push_back({first - (last - first) / (tokens - 1), last, tokens});
  }
  return served;
}

/// Rates as the run shows them, levels that never ran on the line between their neighbours (from none at nothing).
Result<void> measure(Lane& lane) {
  const auto rates = rates_by_level(served_by(lane));
  if (rates.empty()) {
    return failure(
        fmt::format("the rates of {} were not seen: that takes streamed answers of 2 tokens or more, at most "
                    "{} at a time; --boxes gives them",
                    lane.name, most_measured_slots));
  }
  lane.box.tokens_per_s.resize(rates.size());
  std::size_t below = 0;  // levels that have a rate already
  for (std::size_t k = 0; k < rates.size(); ++k) {
    if (!rates[k]) continue;
    const double from = below == 0 ? 0 : lane.box.tokens_per_s[below - 1];
    for (std::size_t level = below + 1; level <= k + 1; ++level) {
      const double part = static_cast<double>(level - below) / static_cast<double>(k + 1 - below);
      lane.box.tokens_per_s[level - 1] = from + part * (*rates[k] - from);
      if (level <= k) lane.unseen.push_back(static_cast<std::int64_t>(level));
    }
    below = k + 1;
  }
  return {};
}

std::vector<fleet::BoxRequest> requests_of(const std::vector<const RequestRecord*>& served, Duration first) {
  std::vector<fleet::BoxRequest> requests;
  requests.reserve(served.size());
  for (const RequestRecord* record : served) {
    requests.push_back({to_seconds(record->due - first), static_cast<double>(record->output.value())});
  }
  return requests;
}

BoxShare share_of(const Lane& lane) {
  BoxShare share;
  share.name = lane.name;
  share.slots = lane.box.slots();
  share.unseen = lane.unseen;
  if (share.slots > 0) {
    const bool one_seen = lane.unseen.empty() || lane.unseen.front() != 1;
    if (one_seen) share.rate_one = lane.box.tokens_per_s.front();
    share.rate_full = lane.box.tokens_per_s.back();
  }
  share.requests = static_cast<std::int64_t>(lane.served.size());
  for (const RequestRecord* record : lane.served) share.output_tokens += record->output.value();
  return share;
}

/// From the first scheduled arrival to the last end of a completed answer that names its worker.
std::pair<Duration, Duration> span_of(std::span<const RequestRecord> records) {
  std::pair<Duration, Duration> span{Duration::max(), Duration::min()};
  for (const RequestRecord& record : records) {
    span.first = std::min(span.first, record.due);
    if (record.ending != Ending::completed || record.worker == no_worker) continue;
    span.second = std::max(span.second, record.ended);
  }
  return span;
}

void find_optimum(BoxReport& report, const std::vector<fleet::Box>& boxes, std::vector<fleet::BoxRequest> all,
                  double tokens, double span_s) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  const double size = all.front().tokens;
  const bool equal = std::all_of(all.begin(), all.end(), [&](const auto& request) { return request.tokens == size; });
  report.exact = equal && all.back().at_s <= burst_part * span_s && all.size() <= most_exact_requests &&
                 boxes.size() <= most_exact_boxes;
  if (report.exact) {
    auto best = fleet::best_split(boxes, static_cast<std::int64_t>(all.size()), size);
    report.optimum = best.tokens_per_s;
    report.optimum_split = std::move(best.requests);
    return;
  }
  const double end = fleet::earliest_end_s(boxes, all);
  report.optimum = end > 0 ? tokens / end : 0;
}

}  // namespace

Result<std::vector<KnownBox>> parse_known_boxes(std::string_view text) {
  std::vector<KnownBox> boxes;
  std::set<std::string> names;
  for (const std::string_view part : split(text, ';')) {
    KnownBox known;
    const auto equals = part.find('=');
    if (equals != std::string_view::npos) known.name = trim(part.substr(0, equals));
    auto box = fleet::parse_box(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (!box) return failure(fmt::format("--boxes: box {} {}", boxes.size() + 1, box.error().message));
    known.box = std::move(*box);
    if (equals != std::string_view::npos && known.name.empty()) {
      return failure(fmt::format("--boxes: box {} has an empty name before =", boxes.size() + 1));
    }
    if (!boxes.empty() && boxes.front().name.empty() != known.name.empty()) {
      return failure("--boxes: some boxes have a name and some have none; allowed is all or none");
    }
    if (!known.name.empty() && !names.insert(known.name).second) {
      return failure(fmt::format("--boxes: two boxes are named {}", known.name));
    }
    boxes.push_back(std::move(known));
    if (boxes.size() > most_boxes) return failure(fmt::format("--boxes: at most {} are allowed", most_boxes));
  }
  return boxes;
}

Result<BoxReport> box_report(std::span<const RequestRecord> records, std::span<const std::string> workers,
                             std::span<const KnownBox> known) {
  if (workers.empty()) return failure("no answer named the worker that served it");
  std::vector<Lane> lanes = lanes_of(records, workers);
  if (known.empty()) {
    std::erase_if(lanes, [](const Lane& lane) { return lane.served.empty(); });
    for (Lane& lane : lanes) {
      if (auto measured = measure(lane); !measured) return tl::unexpected(measured.error());
    }
  } else if (auto set = set_known(lanes, known); !set) {
    return tl::unexpected(set.error());
  }
  const auto [first, last] = span_of(records);
  std::vector<fleet::Box> boxes;
  std::vector<fleet::BoxRequest> all;
  BoxReport report;
  report.measured = known.empty();
  double end_s = 0;
  for (const Lane& lane : lanes) {
    const auto requests = requests_of(lane.served, first);
    end_s = std::max(end_s, fleet::last_end_s(lane.box, requests));
    all.insert(all.end(), requests.begin(), requests.end());
    boxes.push_back(lane.box);
    report.boxes.push_back(share_of(lane));
  }
  const double tokens = std::accumulate(all.begin(), all.end(), 0.0,
                                        [](double sum, const auto& request) { return sum + request.tokens; });
  if (!(tokens > 0) || last <= first) return failure("no answer that names its worker completed with tokens");
  report.tokens_per_s = tokens / to_seconds(last - first);
  report.ceiling = end_s > 0 ? tokens / end_s : 0;
  find_optimum(report, boxes, std::move(all), tokens, to_seconds(last - first));
  return report;
}

}  // namespace evenkeel::load
