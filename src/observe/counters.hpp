#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "fleet/outcome.hpp"

namespace evenkeel::observe {

/// A counter that one thread writes and others read.
class Cell {
 public:
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A Prometheus histogram of seconds with fixed bounds, written by one thread.
class SecondsHistogram {
 public:
  static constexpr std::array bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,   0.25,  0.5,
                                        1.0,   2.5,    5.0,   10.0, 25.0,  50.0, 100.0, 250.0, 600.0};
  void observe(Duration duration);
  [[nodiscard]] std::uint64_t bucket(std::size_t i) const { return buckets_[i].get(); }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_us_.get()) * 1e-6; }

 private:
  std::array<Cell, bounds.size() + 1> buckets_;
  Cell sum_us_;
};

/// What one shard counts. Labels are from closed sets, so no client can mint a series.
struct alignas(64) ShardCounters {
  Cell connections_open;
  Cell connections_ever;
  Cell requests_open;
  Cell requests_begun;
  std::array<Cell, fleet::all_outcomes.size()> outcomes;
  std::array<Cell, fleet::all_refusals.size()> refusals;
  std::array<Cell, 6> status_classes;  ///< [s/100]; 0 = none was sent
  Cell retries;
  Cell reused_socket_retries;
  Cell retries_denied;  ///< by the budget
  Cell streams_cut;     ///< upstream died in the middle of a stream
  Cell held_errors;     ///< a 200 whose first event was an error
  Cell alias_edits;
  Cell transfer_edits;
  Cell events;
  Cell bytes_up;
  Cell bytes_down;
  Cell prompt_tokens;
  Cell output_tokens;
  Cell upstream_connects;
  Cell upstream_reuses;
  // Of what workers found in their prefix caches.
  Cell expected_hit_tokens;  ///< of all placements of which something was known
  Cell judged_hit_tokens;    ///< of those of them whose worker told what it found
  Cell told_hit_tokens;      ///< what it told
  Cell hit_error_tokens;     ///< the differences, whichever way
  // KV handed over from prefill to decode workers.
  Cell transfers;           ///< told by a prefill worker
  Cell transfers_used;      ///< told to a decode worker
  Cell transfers_expired;   ///< came to their end before a decode worker was found
  Cell transfers_repeated;  ///< prefills made again because the decode worker failed
  Cell legs_cancelled;      ///< ended because the other leg of their request had failed
  SecondsHistogram prefill;
  SecondsHistogram queue;
  SecondsHistogram first_byte;
  SecondsHistogram total;
  SecondsHistogram cancel;  ///< client seen gone to upstream closed
};

/// Appends one sample line: name{labels} value. `labels` is the inside of the braces or empty.
void append_sample(std::string& out, std::string_view name, std::string_view labels, double value);
void append_help(std::string& out, std::string_view name, std::string_view type, std::string_view help);
/// Escapes a label value.
[[nodiscard]] std::string label_value(std::string_view text);

}  // namespace evenkeel::observe
