// Tables of lengths, with made-up arrivals or none; and the synthetic workload.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "workload/collector.hpp"
#include "workload/csv_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

/// Column names of the tables that are known; `arrival` in nanoseconds, empty if the table has none.
struct Columns {
  std::string_view prompt;
  std::string_view output;
  std::string_view arrival;
};
constexpr std::array<Columns, 3> known_columns = {{{"num_prefill_tokens", "num_decode_tokens", ""},
                                                   {"ContextTokens", "GeneratedTokens", "StartTimeOffset"},
                                                   {"input_toks", "output_toks", "arrival_time_ns"}}};

/// Arrivals of a law at a rate, one after the other.
class Arrivals {
 public:
  explicit Arrivals(const TraceSpec& spec)
      : law_(spec.arrivals.value_or(ArrivalLaw())), mean_gap_s_(1 / *spec.rate), random_(spec.seed) {
    at_s_ = law_.draw_first(mean_gap_s_, random_);
  }
  [[nodiscard]] Duration next() {
    const double now = at_s_;
    at_s_ += law_.draw(mean_gap_s_, random_);
    return from_seconds(std::min(now, longest_trace_s));
  }

 private:
  ArrivalLaw law_;
  double mean_gap_s_;
  Random random_;
  double at_s_;
};

Result<std::pair<CsvReader, Columns>> open_lengths(const std::string& path) {
  std::optional<Error> first_error;
  for (const auto& columns : known_columns) {
    std::vector<std::string_view> names = {columns.prompt, columns.output};
    if (!columns.arrival.empty()) names.push_back(columns.arrival);
    auto csv = CsvReader::open(path, names);
    if (csv) return std::pair(std::move(*csv), columns);
    if (!first_error) first_error = csv.error();
  }
  return tl::unexpected(*first_error);
}

}  // namespace

Result<Trace> read_lengths(const TraceSpec& spec) {
  auto opened = open_lengths(spec.path);
  if (!opened) return tl::unexpected(opened.error());
  auto& [csv, columns] = *opened;
  if (!spec.rate && columns.arrival.empty()) {
    return failure(spec.path + ": the table has no arrival times; a rate (requests a second) is wanted");
  }
  if (!spec.rate && spec.arrivals) return failure("an arrival law has no effect on a table without a rate");
  std::optional<Arrivals> arrivals;
  if (spec.rate) arrivals.emplace(spec);
  Collector collector(spec.slice);
  while (csv.next()) {
    TraceRequest request;
    request.prompt_tokens = Tokens(csv.whole(0, 0, most_tokens));
    request.output_tokens = Tokens(csv.whole(1, 0, most_tokens));
    request.arrival =
        arrivals ? arrivals->next() : Duration(csv.whole(2, 0, static_cast<std::int64_t>(longest_trace_s * 1e9)));
    if (csv.fault()) break;
    if (arrivals && collector.past_end(request.arrival)) break;
    collector.add(request);
  }
  if (csv.fault()) return tl::unexpected(*csv.fault());
  return collector.finish();
}

Result<Trace> draw_synthetic(const TraceSpec& spec) {
  if (!spec.rate) return failure("a synthetic workload wants a rate (requests a second)");
  if (!spec.prompt || !spec.output) return failure("a synthetic workload wants a prompt and an output length law");
  const bool counted = spec.slice.max_requests != Slice{}.max_requests;
  if (!counted && spec.slice.to_s == Slice{}.to_s) {
    return failure("a synthetic workload has no end of its own; an end (to_s) or max_requests is wanted");
  }
  Arrivals arrivals(spec);
  Random lengths = Random(spec.seed).split();
  Collector collector(spec.slice);
  // A filter that lets nothing through must end too.
  constexpr std::uint64_t most_draws = 200'000'000;
  for (std::uint64_t drawn = 0; drawn < most_draws; ++drawn) {
    TraceRequest request;
    request.arrival = arrivals.next();
    request.prompt_tokens = Tokens(spec.prompt->draw(lengths));
    request.output_tokens = Tokens(spec.output->draw(lengths));
    if (collector.past_end(request.arrival)) return collector.finish();
    collector.add(request);
  }
  return failure("the synthetic workload is larger than 200000000 draws; ask for less, or filter less");
}

}  // namespace evenkeel::workload
