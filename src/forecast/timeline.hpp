#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "fleet/books.hpp"
#include "fleet/view.hpp"

namespace evenkeel::forecast {

/// A request of which all is known, for training and evaluation.
struct PastRequest {
  Duration arrival{};
  std::int64_t prompt = 0;
  std::int64_t output = 0;  ///< tokens; under 1: it is left out
  std::uint64_t key = 0;    ///< as of fleet::RunningView
};

struct TimelineOptions {
  std::int64_t every = 40;                             ///< tokens between two questions about a request
  Duration per_token = std::chrono::milliseconds(50);  ///< of service: sets what has ended when a question is asked
};

/// Empty if all is well, else which field is wrong and what is allowed.
[[nodiscard]] std::string fault_of(const TimelineOptions& options);

/// Told, in the order of time, what a forecast would be told, and when it would be asked. At one instant: ends first.
class TimelineObserver {
 public:
  virtual ~TimelineObserver() = default;
  virtual void running(const fleet::FleetView& fleet, Time now) = 0;
  virtual void finished(const fleet::LeaseSummary& summary, Time now) = 0;
  /// Request `index` is in service and will have `output` tokens.
  virtual void asked(std::size_t index, const fleet::RunningView& request, std::int64_t output, Time now) = 0;
};

/// Lets every request begin to decode when it arrives and give a token each `per_token`; asks at ages 0, every,
/// 2 every, ... below its length. `requests` are in order of arrival. Memory: what is in service at once. An instant
/// is Time(arrival); lengths over LengthGrid::longest are cut.
void run_timeline(std::span<const PastRequest> requests, const TimelineOptions& options, TimelineObserver& observer);

/// Where the first `share` of the requests end, by arrival: what is asked before may be learned from.
[[nodiscard]] Time time_of_split(std::span<const PastRequest> requests, double share);

}  // namespace evenkeel::forecast
