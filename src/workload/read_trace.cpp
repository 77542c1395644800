#include "workload/read_trace.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "workload/line_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

/// Options beside path, seed and slice; bits.
enum Takes : unsigned { nothing = 0, rate = 1, session_rate = 2, arrivals = 4, laws = 8 };

struct Format {
  TraceFormatInfo info;
  unsigned takes;
  Result<Trace> (*read)(const TraceSpec&);
};

constexpr std::array<Format, 9> formats = {{
    {{"azure", "Azure 2023 and 2024 CSV: TIMESTAMP,ContextTokens,GeneratedTokens"}, nothing, read_azure},
    {{"mooncake", "Mooncake JSON lines with 512-token prefix blocks; a 3 s grid of arrivals is spread by the seed"},
     nothing,
     read_mooncake},
    {{"servegen-drawn", "CSV arrival_s,client,prompt_tokens,output_tokens"}, nothing, read_servegen_drawn},
    {{"servegen-tables",
      "folder with clients.csv and lengths.jsonl[.gz], drawn by the seed; takes a rate (mean of the slice)"},
     rate,
     read_servegen_tables},
    {{"agentic-sessions", "coding-agent conversations, JSON lines with prefix blocks; wants a session rate"},
     session_rate,
     read_agentic_sessions},
    {{"agentic-requests", "the same conversations as CSV session,agent,seq,...; wants a session rate"},
     session_rate,
     read_agentic_requests},
    {{"lengths", "table of prompt and output lengths; takes a rate and an arrival law, wants them if it has no times"},
     rate | arrivals,
     read_lengths},
    {{"access-log", "the router's own access log, JSON lines"}, nothing, read_access_log},
    {{"synthetic", "no file: wants a rate, a prompt law, an output law and an end; takes an arrival law"},
     rate | arrivals | laws,
     draw_synthetic},
}};

constexpr auto infos = [] {
  std::array<TraceFormatInfo, formats.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = formats[i].info;
  return out;
}();

std::string format_names() {
  std::string names;
  for (const auto& format : formats) {
    if (!names.empty()) names += ", ";
    names += format.info.name;
  }
  return names;
}

const Format* find_format(std::string_view name) {
  const auto at = std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.info.name == name; });
  return at == formats.end() ? nullptr : &*at;
}

/// The format a CSV header belongs to, or "".
std::string_view format_of_header(std::string_view header) {
  const auto columns = split(header, ',');
  const auto has = [&](std::string_view column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (has("TIMESTAMP") && has("ContextTokens")) return "azure";
  if (has("arrival_s") && has("prompt_tokens")) return "servegen-drawn";
  if (has("client") && has("window_start") && has("arg1")) return "servegen-tables";
  if (has("session") && has("prefix_blocks")) return "agentic-requests";
  if (has("num_prefill_tokens") || has("StartTimeOffset") || has("arrival_time_ns")) return "lengths";
  return {};
}

std::string_view format_of_object(std::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return {};
  const auto has = [&](std::string_view key) {
    simdjson::dom::element value;
    return object[key].get(value) == simdjson::SUCCESS;
  };
  if (has("v") && has("ts")) return "access-log";
  if (has("timestamp") && has("input_length")) return "mooncake";
  if (has("requests") && has("block_size")) return "agentic-sessions";
  return {};
}

Result<std::string_view> detect(const std::string& path) {
  std::error_code code;
  if (std::filesystem::exists(path + "/clients.csv", code)) return "servegen-tables";
  auto lines = LineReader::open(path, BrokenOff::end);  // the format's own reader judges that
  if (!lines) return tl::unexpected(lines.error());
  if (!lines->next()) {
    return lines->fault() ? failure(lines->fault()->message)
                          : failure(path + (lines->cut() ? ": the compressed file ends in its first line"
                                                         : ": the file is empty"));
  }
  const auto line = lines->line();
  const auto format = line.front() == '{' ? format_of_object(line) : format_of_header(line);
  if (!format.empty()) return format;
  return failure(fmt::format("{}:1: the first line is that of no known trace format; formats that can be named: {}",
                             path, format_names()));
}

bool is_rate(double value) { return value >= 1e-6 && value <= 1e6; }

/// Empty, or what in the spec is out of bounds or has no effect on the format.
std::string fault_of(const TraceSpec& spec, const Format& format) {
  const auto given = [](unsigned bit, bool is_given, std::string_view name) { return std::tuple(bit, is_given, name); };
  for (const auto& [bit, is_given, name] :
       {given(rate, spec.rate.has_value(), "rate"), given(session_rate, spec.session_rate.has_value(), "session_rate"),
        given(arrivals, spec.arrivals.has_value(), "arrivals"), given(laws, spec.prompt.has_value(), "prompt"),
        given(laws, spec.output.has_value(), "output")}) {
    if (is_given && (format.takes & bit) == 0) {
      return fmt::format("option {} has no effect on the trace format {}", name, format.info.name);
    }
  }
  if (spec.rate && !is_rate(*spec.rate)) {
    return fmt::format("option rate is {}; allowed: 0.000001 to 1000000 requests a second", *spec.rate);
  }
  if (spec.session_rate && !is_rate(*spec.session_rate)) {
    return fmt::format("option session_rate is {}; allowed: 0.000001 to 1000000 starts a second", *spec.session_rate);
  }
  if (format.info.name == "synthetic" && !spec.path.empty()) return "the synthetic workload takes no file";
  return spec.slice.fault();
}

Result<const Format*> choose_format(const TraceSpec& spec) {
  std::string_view name = spec.format;
  if (name.empty()) {
    if (spec.path.empty()) return failure("a trace wants a file, or the format synthetic");
    const auto detected = detect(spec.path);
    if (!detected) return tl::unexpected(detected.error());
    name = *detected;
  }
  if (const Format* format = find_format(name)) return format;
  std::vector<std::string_view> names;
  for (const auto& format : formats) names.push_back(format.info.name);
  const auto near = nearest_name(name, names);
  return failure(fmt::format("trace format \"{}\" is not known{}; allowed: {}", name,
                             near.empty() ? "" : fmt::format(", \"{}\" is near", near), format_names()));
}

}  // namespace

std::span<const TraceFormatInfo> trace_formats() { return infos; }

Result<Trace> read_trace(const TraceSpec& spec) {
  const auto format = choose_format(spec);
  if (!format) return tl::unexpected(format.error());
  if (auto fault = fault_of(spec, **format); !fault.empty()) return failure(std::move(fault));
  auto trace = (*format)->read(spec);
  if (!trace) return trace;
  trace->format = (*format)->info.name;
  if (trace->requests.empty()) {
    return failure(fmt::format("{}: no request is left after the slice", spec.path.empty() ? "synthetic" : spec.path));
  }
  return trace;
}

}  // namespace evenkeel::workload
