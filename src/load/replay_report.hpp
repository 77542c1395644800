#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "load/box_report.hpp"
#include "load/record.hpp"
#include "maths/histogram.hpp"
#include "maths/percentile.hpp"

namespace evenkeel::load {

/// A load as it was meant: every request by its scheduled arrival, whatever became of it.
struct OfferedLoad {
  std::uint64_t requests = 0;
  std::int64_t prompt_tokens = 0;  ///< by the trace
  std::int64_t output_tokens = 0;
  double span_s = 0;  ///< from the first scheduled arrival to the last
};

/// What came back whole.
struct CompletedLoad {
  std::uint64_t requests = 0;
  std::int64_t prompt_tokens = 0;  ///< by the engine where it told, else by the trace
  std::int64_t output_tokens = 0;
  std::uint64_t counted_by_usage = 0;   ///< requests whose output tokens the engine told
  std::uint64_t counted_by_events = 0;  ///< and whose were counted by events
  double span_s = 0;                    ///< from the first scheduled arrival to the end of the last whole answer

  [[nodiscard]] double output_tokens_per_s() const {
    return span_s > 0 ? static_cast<double>(output_tokens) / span_s : 0;
  }
};

struct FailureClass {
  std::uint64_t requests = 0;
  std::string example;  ///< words of the first one
};

struct WorkerShare {
  std::string name;
  std::uint64_t answers = 0;  ///< receipts that named it, whatever became of the request
  std::uint64_t completed = 0;
  std::int64_t output_tokens = 0;  ///< of the completed ones
};

struct Goodput {
  std::uint64_t requests = 0;  ///< completed within every SLO that was given
  double share = 0;            ///< of the offered requests
  double requests_per_s = 0;   ///< over CompletedLoad::span_s
};

/// What a replay measured. Latencies are of completed requests and in ms. TTFT, first event with content, and
/// e2e, the true end, count from the scheduled arrival, time held back in the client by the cap included.
struct ReplayReport {
  std::string label;
  std::string url;
  std::string policy;  ///< as receipts told it; several are joined by '+'; empty without receipts
  OfferedLoad offered;
  CompletedLoad completed;
  std::array<FailureClass, ending_count> endings;  ///< by Ending; of `completed` only the count
  std::map<int, std::uint64_t> statuses;           ///< HTTP statuses of all answers
  std::map<std::string, std::uint64_t> refusals;   ///< reasons that the router gave with a refusal
  std::int64_t wasted_output_tokens = 0;           ///< came in answers that did not complete

  maths::Summary ttft_ms;
  maths::Summary tpot_ms;  ///< (last - first event with content) / (output tokens - 1), of 2 tokens or more
  maths::Summary e2e_ms;
  maths::Summary itl_ms;               ///< between events with content, of all streams; within 0.5 %
  std::vector<double> ttft_values_ms;  ///< in ascending order
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  std::optional<Goodput> goodput;  ///< if there is an SLO

  std::vector<WorkerShare> workers;              ///< by name; empty without receipts
  std::optional<BoxReport> boxes;                ///< what the workers could have done with it, if that can be said
  std::optional<maths::Summary> router_wait_ms;  ///< time in the router's waiting pool, by the receipts

  // How far the measurement itself can be believed.
  std::uint64_t held_requests = 0;  ///< waited in the client because of the cap
  maths::Summary held_ms;           ///< of those
  maths::Summary late_ms;           ///< sent after their time for want of CPU in the client, of the others
  std::uint64_t most_in_flight = 0;
  std::uint64_t reconnects = 0;  ///< a kept connection was dead and the request went out again
  std::vector<std::string> notes;

  [[nodiscard]] std::uint64_t failed() const { return offered.requests - completed.requests; }
};

/// What a replay gathers beside its records.
struct Gathered {
  std::vector<RequestRecord> records;
  maths::Histogram gaps_ms{0.005, 1e-3, 1e8};
  std::array<std::string, ending_count> examples;
  std::map<std::string, std::uint64_t> refusals;
  std::map<std::string, std::uint64_t> policies;
  std::vector<std::string> worker_names;  ///< what RequestRecord::worker points into
  std::uint64_t most_in_flight = 0;
  std::uint64_t reconnects = 0;
};

struct Slo {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
};

/// The arithmetic: O(n log n) in the number of records. Leaves label, url, boxes and notes empty.
[[nodiscard]] ReplayReport summarize(const Gathered& gathered, const Slo& slo);

/// (last - first event with content) / (output tokens - 1) in ms; nothing for fewer than 2 tokens or no
/// stream.
[[nodiscard]] std::optional<double> tpot_ms(const RequestRecord& record);

}  // namespace evenkeel::load
