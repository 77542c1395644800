// Mooncake's traces (FAST 2025): one object a line with timestamp (ms), input_length, output_length,
// hash_ids.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "workload/collector.hpp"
#include "workload/json_fields.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

constexpr std::uint32_t block_tokens = 512;
constexpr std::int64_t grid_ms = 3000;
constexpr std::int64_t grid_error_ms = 10;  // published times miss the grid by up to 3 ms

std::int64_t nearest_grid_point(std::int64_t ms) { return (ms + grid_ms / 2) / grid_ms; }

bool on_grid(const std::vector<TraceRequest>& requests) {
  const auto is_near = [](const TraceRequest& r) {
    const auto ms = r.arrival / std::chrono::milliseconds(1);
    return std::llabs(ms - nearest_grid_point(ms) * grid_ms) <= grid_error_ms;
  };
  return requests.back().arrival > requests.front().arrival && std::all_of(requests.begin(), requests.end(), is_near);
}

/// Some of the published traces tell arrivals to 3 s only. Requests of one grid point are given independent
/// uniform places inside its 3 s, in the file's order: a Poisson stream seen through such a grid becomes one
/// again, which places at equal distances would not do.
void spread_over_grid(std::vector<TraceRequest>& requests, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> places;
  for (std::size_t begin = 0; begin < requests.size();) {
    const auto point = [&](std::size_t i) {
      return nearest_grid_point(requests[i].arrival / std::chrono::milliseconds(1));
    };
    std::size_t end = begin;
    while (end < requests.size() && point(end) == point(begin)) ++end;
    places.clear();
    for (auto i = begin; i < end; ++i) places.push_back(random.unit());
    std::sort(places.begin(), places.end());
    const Duration start = std::chrono::milliseconds(point(begin) * grid_ms);
    for (auto i = begin; i < end; ++i) requests[i].arrival = start + from_millis(places[i - begin] * grid_ms);
    begin = end;
  }
}

TraceRequest read_request(const JsonFields& fields, PrefixStore& prefixes, std::vector<std::uint64_t>& ids) {
  TraceRequest request;
  request.arrival = std::chrono::milliseconds(fields.whole("timestamp", 0, std::int64_t{1'000'000'000'000}));
  request.prompt_tokens = Tokens(fields.whole("input_length", 0, most_tokens));
  request.output_tokens = Tokens(fields.whole("output_length", 0, most_tokens));
  if (!fields.has("hash_ids")) return request;
  ids.clear();
  for (const auto value : fields.array("hash_ids")) {
    std::uint64_t id = 0;
    if (value.get(id) != simdjson::SUCCESS) fields.reject("hash_ids", "a list of whole numbers from 0");
    ids.push_back(id);
  }
  if (ids.empty()) return request;
  request.prefix = prefixes.add(ids);
  request.prefix_block_size = block_tokens;
  return request;
}

}  // namespace

Result<Trace> read_mooncake(const TraceSpec& spec) {
  auto lines = LineReader::open(spec.path);
  if (!lines) return tl::unexpected(lines.error());
  simdjson::dom::parser parser;
  Collector collector(spec.slice);
  // Whether the times lie on the grid shows only when all are read.
  std::vector<TraceRequest> requests;
  std::vector<std::uint64_t> ids;
  while (lines->next()) {
    const auto fields = parse_object(*lines, parser);
    if (lines->fault()) break;
    requests.push_back(read_request(fields, collector.trace().prefixes, ids));
    if (lines->fault()) break;
    if (requests.size() > 1 && requests.back().arrival < requests[requests.size() - 2].arrival) {
      fields.reject("timestamp", "not before the row above");
    }
  }
  if (lines->fault()) return tl::unexpected(*lines->fault());
  if (!requests.empty() && on_grid(requests)) {
    spread_over_grid(requests, spec.seed);
    collector.trace().notes.emplace_back("arrivals are told to 3 s only; spread inside them by the seed");
  }
  for (const auto& request : requests) collector.add(request);
  return collector.finish();
}

}  // namespace evenkeel::workload
