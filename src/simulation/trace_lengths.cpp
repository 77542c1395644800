#include "simulation/trace_lengths.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "simulation/bounds.hpp"
#include "simulation/words.hpp"

namespace evenkeel::simulation {

namespace {

constexpr Whole any_count{1, std::numeric_limits<std::int64_t>::max()};

Result<void> check_slice(const workload::Slice& slice) {
  if (!(slice.to_s > slice.from_s)) {
    return failure(fmt::format("--to is {:g}: allowed are more than --from ({:g}) seconds", slice.to_s, slice.from_s));
  }
  if (slice.max_requests == 0) return failure("--max-requests is 0: allowed are 1 and more");
  return bounds::seconds.check("--from", slice.from_s)
      .and_then([&] { return bounds::time_scale.check("--time-scale", slice.time_scale); })
      .and_then([&] { return any_count.check("--prompt-cap", slice.cap_prompt); })
      .and_then([&] { return any_count.check("--output-cap", slice.cap_output); });
}

/// The trace reader speaks of its fields; here they are flags.
std::string named_by_flags(std::string message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> flags = {
      {{"option rate", "--trace-rate"}, {"option session_rate", "--trace-session-rate"}}};
  const std::string told = in_flags(message, flags);
  return told == message ? "--trace: " + message : told;
}

Result<void> check_caps(const workload::Trace& trace, const Options& options) {
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const auto over = [&](std::string_view what, Tokens tokens, std::int64_t most) {
      return failure(
          fmt::format("--trace: request {} has {} {} tokens: allowed are up to {} (--max-{} allows more, --{}-cap "
                      "cuts)",
                      i + 1, tokens.value(), what, most, what, what));
    };
    const auto& request = trace.requests[i];
    if (request.prompt_tokens.value() > options.max_prompt) {
      return over("prompt", request.prompt_tokens, options.max_prompt);
    }
    if (request.output_tokens.value() > options.max_output) {
      return over("output", request.output_tokens, options.max_output);
    }
  }
  return {};
}

/// The model knows no request without a prompt or an output (see RequestSequence::of_trace()).
void note_empty(const workload::Trace& trace, std::string_view what, Tokens workload::TraceRequest::*tokens,
                std::vector<std::string>& notes) {
  const auto count =
      std::ranges::count_if(trace.requests, [&](const auto& each) { return (each.*tokens).value() < 1; });
  if (count == 0) return;
  notes.push_back(fmt::format("trace: {} of {} with 0 {} tokens, taken as 1",
                              report::grouped(static_cast<std::int64_t>(count)),
                              counted(static_cast<std::int64_t>(trace.requests.size()), "request"), what));
}

}  // namespace

Result<std::shared_ptr<const workload::Trace>> read_trace_lengths(const Options& options,
                                                                  std::vector<std::string>& notes) {
  if (auto ok = check_slice(options.trace.slice); !ok) return tl::unexpected(ok.error());
  auto trace = workload::read_trace(options.trace);
  if (!trace) return failure(named_by_flags(std::move(trace.error().message)));
  if (auto ok = check_caps(*trace, options); !ok) return tl::unexpected(ok.error());
  for (const std::string& note : trace->notes) notes.push_back("trace: " + note);
  note_empty(*trace, "prompt", &workload::TraceRequest::prompt_tokens, notes);
  note_empty(*trace, "output", &workload::TraceRequest::output_tokens, notes);
  return std::make_shared<const workload::Trace>(*std::move(trace));
}

}  // namespace evenkeel::simulation
