#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "fleet/books.hpp"
#include "fleet/view.hpp"

namespace evenkeel::forecast {

/// How long a request in service will still run, in output tokens (one a decode step). Everything a forecast knows it
/// was told by finished() and running(); `request.generated` is the age the question is asked for. Not thread-safe.
class Forecast {
 public:
  virtual ~Forecast() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// c = E[min(r, horizon)] of the remaining tokens r, given that it runs at its age: in [0, horizon], horizon >= 1
  /// (arXiv 2605.06113, the truncated remaining life). With no knowledge: horizon.
  [[nodiscard]] virtual double remaining(const fleet::RunningView& request, std::int64_t horizon) const = 0;
  /// P(r > tokens), given that it runs at its age: 1 at 0 tokens, never rising. With no knowledge: 1.
  [[nodiscard]] virtual double survival(const fleet::RunningView& request, std::int64_t tokens) const = 0;

  /// A request has ended, in whatever way.
  virtual void finished(const fleet::LeaseSummary& summary, Time now) = 0;
  /// All that is in service: lives that have lasted so long and are not over.
  virtual void running(const fleet::FleetView& fleet, Time now) = 0;
};

}  // namespace evenkeel::forecast
