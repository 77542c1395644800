#include "cli/fit_source.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/flag_values.hpp"
#include "simulation/bounds.hpp"
#include "workload/access_log.hpp"
#include "workload/line_reader.hpp"

namespace evenkeel::cli {

namespace {

using planning::Observation;

constexpr std::uint32_t most_workers = 4096;

/// What reading finds, before it is fitted.
struct Seen {
  std::vector<Observation> requests;
  std::vector<std::string> notes;
};

Result<Seen> from_trace(const workload::Trace& trace, const std::string& model) {
  Seen seen;
  std::size_t dependent = 0;
  for (const auto& request : trace.requests) {
    if (!model.empty() && trace.name(request.model) != model) continue;
    Observation one;
    one.arrival_s = to_seconds(request.arrival);
    one.prompt_tokens = request.prompt_tokens.as_double();
    one.output_tokens = request.output_tokens.as_double();
    seen.requests.push_back(one);
    dependent += request.after == workload::no_index ? 0 : 1;
  }
  if (dependent > 0) {
    seen.notes.push_back(fmt::format("{} of {} requests follow an answer: they arrive when they were recorded to",
                                     dependent, seen.requests.size()));
  }
  return seen;
}

/// The log tells more than a trace: times, workers, and what was cut off.
class LogRequests {
 public:
  explicit LogRequests(std::string model) : model_(std::move(model)) {}

  /// False: too many workers.
  bool add(const workload::AccessLogRecord& record) {
    if (!model_.empty() && record.model != model_) return true;
    if (record.output_tokens < 1) {
      ++without_output_;
      return true;
    }
    Observation one;
    one.arrival_s = static_cast<double>(record.ts) / 1e3;
    one.prompt_tokens = static_cast<double>(record.prompt_tokens);
    one.output_tokens = static_cast<double>(record.output_tokens);
    one.duration_s = std::max(0.0, record.total_ms - record.queue_ms) / 1e3;
    if (record.stream && record.first_byte_ms) {
      one.decode_s = std::max(0.0, record.total_ms - *record.first_byte_ms) / 1e3;
    }
    one.ended = record.outcome == fleet::to_string(fleet::Outcome::completed);
    if (!record.worker.empty()) {
      const auto [at, fresh] = workers_.try_emplace(std::string(record.worker), workers_.size());
      one.worker = static_cast<std::uint32_t>(at->second);
    }
    requests_.push_back(one);
    return workers_.size() <= most_workers;
  }

  [[nodiscard]] Seen finish() {
    Seen seen;
    if (without_output_ > 0) {
      seen.notes.push_back(fmt::format(
          "requests without output (refused, failed, or not generating), which are not counted as arrivals: {}",
          without_output_));
    }
    double first = std::numeric_limits<double>::infinity();
    for (const auto& request : requests_) first = std::min(first, request.arrival_s);
    for (auto& request : requests_) request.arrival_s -= first;
    seen.requests = std::move(requests_);
    return seen;
  }

 private:
  std::string model_;
  std::vector<Observation> requests_;
  std::unordered_map<std::string, std::size_t> workers_;
  std::size_t without_output_ = 0;
};

Result<Seen> from_log(const std::string& path, const std::string& model) {
  auto lines = workload::LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  workload::AccessLogReader reader;
  LogRequests requests(model);
  while (lines->next()) {
    const auto record = reader.read(lines->line());
    if (!record) {
      lines->reject(record.error().message);
    } else if (!requests.add(*record)) {
      lines->reject(fmt::format("field \"worker\" names the {}th worker; allowed: {}", most_workers + 1, most_workers));
    }
  }
  if (lines->fault()) return tl::unexpected(*lines->fault());
  return requests.finish();
}

/// The fit speaks of its options; here they are flags.
std::string in_flags(std::string message) {
  const std::pair<std::string_view, std::string_view> names[] = {{"window_s ", "--scale-time "},
                                                                 {"heavy_tokens ", "--heavy-tokens "},
                                                                 {"context_tokens ", "--context-tokens "},
                                                                 {"token_s ", "--token-ms "},
                                                                 {"kv_bytes ", "--kv-bytes "}};
  for (const auto& [option, flag] : names) {
    if (message.starts_with(option)) return std::string(flag) + message.substr(option.size());
  }
  return "--from: " + message;
}

}  // namespace

void FitSource::add_to(CLI::App& command, const std::string& needs) {
  const auto with = [&](CLI::Option* option) { option->needs(command.get_option(needs)); };
  with(command.add_option("--format", spec.format, "name of the trace's format; default: told from the first line")
           ->check(text()));
  with(command.add_option("--rate", spec.rate, "requests a second, for formats that take it")
           ->check(real(simulation::bounds::rate_per_s)));
  with(command
           .add_option("--session-rate", spec.session_rate,
                       "conversations that start a second, for formats that take it")
           ->check(real(simulation::bounds::rate_per_s)));
  with(command.add_option("--max-requests", spec.slice.max_requests, "the first so many")
           ->check(whole(simulation::bounds::requests_of_trace)));
  with(command.add_option("--model", model, "only requests of this model")->check(text()));
  with(command
           .add_option("--heavy-tokens", options.heavy_tokens, "only requests with so many output tokens (default 1)")
           ->check(real({1, 1e9})));
  with(command.add_option("--context-tokens", options.context_tokens, "prompt and output at which the engine cuts off")
           ->check(real({1, 1e9})));
  with(command.add_option("--token-ms", token_ms, "ms of an output token; default: as the log's times say")
           ->check(real({1e-3, 1e6})));
  with(command.add_option("--kv-bytes", options.kv_bytes, "bytes of KV cache a token")->check(real({1, 1e12})));
  with(command
           .add_option("--tail-k", options.tail_k, "longest requests that the tail is fitted to; default: by the data")
           ->check(whole({25, 100'000'000})));
}

Result<FitSource::Read> FitSource::read() const {
  auto given = spec;
  given.seed = options.seed;
  const auto trace = workload::read_trace(given);
  if (!trace) return failure(in_flags(trace.error().message));
  const bool is_log = trace->format == "access-log";
  if (is_log && spec.slice.max_requests != workload::Slice().max_requests) {
    return failure("--max-requests has no effect on an access log: cut the file");
  }
  auto seen = is_log ? from_log(spec.path, model) : from_trace(*trace, model);
  if (!seen) return failure(in_flags(seen.error().message));
  if (seen->requests.empty()) {
    return failure(model.empty() ? "--from: no request has an output"
                                 : fmt::format("--model: no request with output is of the model \"{}\"", model));
  }
  double span_s = 0;
  for (const auto& request : seen->requests) span_s = std::max(span_s, request.arrival_s);
  auto wanted = options;
  wanted.token_s = token_ms / 1e3;
  auto fit = planning::fit_fleet(seen->requests, span_s, wanted);
  if (!fit) return failure(in_flags(fit.error().message));
  Read read{std::move(*fit), trace->format, is_log ? std::vector<std::string>() : trace->notes};
  read.notes.insert(read.notes.end(), seen->notes.begin(), seen->notes.end());
  return read;
}

}  // namespace evenkeel::cli
