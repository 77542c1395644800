#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "forecast/forecast.hpp"

namespace evenkeel::simulation {

/// The outputs of all requests by the dispatcher's ids, which count from 1. Written by the simulator only.
class Fates {
 public:
  void add(RequestId id, std::int64_t output) {
    if (outputs_.size() <= id.value) outputs_.resize(id.value + 1, 0);
    outputs_[id.value] = static_cast<std::int32_t>(output);
  }
  /// 0: not known.
  [[nodiscard]] std::int64_t output(RequestId id) const { return id.value < outputs_.size() ? outputs_[id.value] : 0; }

 private:
  std::vector<std::int32_t> outputs_;
};

/// The forecast that knows: the bound of what any other can reach. The only way by which a length reaches a policy.
class OracleForecast final : public forecast::Forecast {
 public:
  explicit OracleForecast(std::shared_ptr<const Fates> fates) : fates_(std::move(fates)) {}
  [[nodiscard]] std::string_view name() const override { return "oracle"; }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    return static_cast<double>(std::min(left(request), horizon));
  }
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t tokens) const override {
    return left(request) > tokens ? 1.0 : 0.0;
  }
  void finished(const fleet::LeaseSummary&, Time) override {}
  void running(const fleet::FleetView&, Time) override {}

 private:
  [[nodiscard]] std::int64_t left(const fleet::RunningView& request) const {
    return std::max<std::int64_t>(fates_->output(request.id) - request.generated, 0);
  }
  std::shared_ptr<const Fates> fates_;
};

}  // namespace evenkeel::simulation
