#pragma once

#include "base/error.hpp"
#include "workload/read_trace.hpp"

// One reader a format, in files of their own; read_trace() chooses. Each is handed a spec whose slice and
// options were checked already.
namespace evenkeel::workload {

[[nodiscard]] Result<Trace> read_azure(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_mooncake(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_servegen_drawn(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_servegen_tables(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_agentic_sessions(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_agentic_requests(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_lengths(const TraceSpec& spec);
[[nodiscard]] Result<Trace> read_access_log(const TraceSpec& spec);
[[nodiscard]] Result<Trace> draw_synthetic(const TraceSpec& spec);

/// Most seconds a time in a file may have from the start of the trace: three centuries would overflow.
inline constexpr double longest_trace_s = 1e9;

}  // namespace evenkeel::workload
