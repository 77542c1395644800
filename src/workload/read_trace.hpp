#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "workload/laws.hpp"
#include "workload/trace.hpp"

namespace evenkeel::workload {

/// Where a workload comes from and what of it is wanted. What has no effect on the format is refused.
struct TraceSpec {
  std::string path;                    ///< file, plain or .gz; a folder for servegen-tables; empty for synthetic
  std::string format;                  ///< name out of trace_formats(); empty: told from the first line
  std::uint64_t seed = 1;              ///< of everything that is drawn
  std::optional<double> rate;          ///< requests a second
  std::optional<double> session_rate;  ///< conversations that start, a second
  std::optional<ArrivalLaw> arrivals;  ///< default Poisson
  std::optional<LengthLaw> prompt;     ///< synthetic only
  std::optional<LengthLaw> output;     ///< synthetic only
  Slice slice;
};

struct TraceFormatInfo {
  std::string_view name;
  std::string_view summary;  ///< one line for --help: what it is, which options it takes
};

/// In the order of --help.
[[nodiscard]] std::span<const TraceFormatInfo> trace_formats();

/// Reads or draws the whole slice. Errors name file, line, field and what is allowed. The same spec gives the
/// same trace on every machine.
[[nodiscard]] Result<Trace> read_trace(const TraceSpec& spec);

}  // namespace evenkeel::workload
