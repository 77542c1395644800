// Our own access log as a trace.
#include <optional>

#include <fmt/format.h>

#include "workload/access_log.hpp"
#include "workload/collector.hpp"
#include "workload/line_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

Result<Trace> read_access_log(const TraceSpec& spec) {
  auto lines = LineReader::open(spec.path, BrokenOff::end);
  if (!lines) return tl::unexpected(lines.error());
  AccessLogReader reader;
  Collector collector(spec.slice);
  // A line is written when its request ends, so the first arrival of all shows only when all are read.
  std::vector<TraceRequest> requests;
  std::optional<std::int64_t> first_ms;
  std::uint64_t left_out = 0;
  while (lines->next()) {
    const auto record = reader.read(lines->line());
    if (!record) {
      lines->reject(record.error().message);
      break;
    }
    constexpr std::int64_t most_unix_ms = 9'000'000'000'000;  // year 2255; as nanoseconds still a Duration
    if (record->ts < 0 || record->ts > most_unix_ms) {
      lines->reject(fmt::format("field \"ts\" is {}; allowed: 0 to {}", record->ts, most_unix_ms));
      break;
    }
    if (!first_ms || record->ts < *first_ms) first_ms = record->ts;
    if (record->prompt_tokens_from == TokenSource::none || record->prompt_tokens > most_tokens ||
        record->output_tokens > most_tokens) {
      ++left_out;
      continue;
    }
    TraceRequest request;
    request.arrival = std::chrono::milliseconds(record->ts);
    request.prompt_tokens = Tokens(record->prompt_tokens);
    request.output_tokens = Tokens(record->output_tokens);
    request.model = collector.trace().intern(record->model);
    request.client = collector.trace().intern(record->client);
    requests.push_back(request);
  }
  if (lines->fault()) return tl::unexpected(*lines->fault());
  if (lines->cut()) {
    collector.trace().notes.push_back(
        fmt::format("the compressed file breaks off after line {}: read up to there", lines->number() - 1));
  }
  if (left_out > 0) {
    collector.trace().notes.push_back(
        fmt::format("{} requests are left out: their prompt tokens are not known", left_out));
  }
  for (auto& request : requests) {
    request.arrival -= std::chrono::milliseconds(*first_ms);
    collector.add(request);
  }
  return collector.finish();
}

}  // namespace evenkeel::workload
