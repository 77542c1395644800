// Requests drawn from ServeGen's tables: arrival_s,client,prompt_tokens,output_tokens.
#include <algorithm>
#include <array>

#include "workload/collector.hpp"
#include "workload/csv_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

Result<Trace> read_servegen_drawn(const TraceSpec& spec) {
  constexpr std::array<std::string_view, 4> columns = {"arrival_s", "client", "prompt_tokens", "output_tokens"};
  auto csv = CsvReader::open(spec.path, columns);
  if (!csv) return tl::unexpected(csv.error());
  Collector collector(spec.slice);
  Duration latest{};
  while (csv->next()) {
    TraceRequest request;
    request.arrival = from_seconds(csv->number(0, 0, longest_trace_s));
    request.client = collector.trace().intern(csv->text(1));
    request.prompt_tokens = Tokens(csv->whole(2, 0, most_tokens));
    request.output_tokens = Tokens(csv->whole(3, 0, most_tokens));
    if (!csv->fault() && request.arrival < latest - Collector::order_slack) {
      csv->reject_field(0, "at most 60 s before an earlier row");
    }
    if (csv->fault()) break;
    latest = std::max(latest, request.arrival);
    if (collector.past_end(request.arrival, Collector::order_slack)) break;
    collector.add(request);
  }
  if (csv->fault()) return tl::unexpected(*csv->fault());
  return collector.finish();
}

}  // namespace evenkeel::workload
