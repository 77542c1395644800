#pragma once

#include <cstdint>
#include <vector>

#include "workload/trace.hpp"

namespace evenkeel::workload {

/// Takes requests as a reader finds them, keeps those of the slice, and makes a trace of them. A reader adds
/// requests in the file's order; `after` counts added requests from 0 and must point back.
class Collector {
 public:
  /// Files that are said to be in time order may be out of it by this much.
  static constexpr Duration order_slack = std::chrono::minutes(1);

  /// `linked`: some requests will have `after` set.
  explicit Collector(const Slice& slice, bool linked = false);

  /// The trace to be: readers intern names, store prefixes and leave notes there.
  [[nodiscard]] Trace& trace() { return trace_; }
  [[nodiscard]] const Slice& slice() const { return slice_; }
  void add(TraceRequest request);
  /// For readers of what is in time order within `slack`: nothing that follows an arrival at `at` can be
  /// kept.
  [[nodiscard]] bool past_end(Duration at, Duration slack = {}) const;
  /// Sorts by arrival, cuts to max_requests, moves the start to 0, scales time. Leaves the collector empty.
  [[nodiscard]] Trace finish();

 private:
  struct Fate {
    RequestIndex kept;     ///< place among the kept, or of the nearest kept forerunner
    Duration extra_think;  ///< think times of those left out between
  };
  [[nodiscard]] bool wanted(const TraceRequest& request) const;
  void sort_by_arrival();

  Slice slice_;
  Duration from_;
  Duration to_;
  Trace trace_;
  bool linked_;
  std::vector<Fate> fates_;  ///< of every added request, if linked
  Duration latest_kept_{};   ///< latest arrival while no more than max_requests are kept
};

}  // namespace evenkeel::workload
