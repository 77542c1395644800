#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/kv_subscriber.hpp"
#include "gateway/shard.hpp"

namespace evenkeel::gateway {

class ForecastKeeper;
class ModelNames;
class PressureWatch;

/// The router's metrics in Prometheus' text format: shards' cells summed, the dispatcher's books, pool and forecasts.
/// Thread-safe.
[[nodiscard]] std::string metrics_page(const std::vector<std::unique_ptr<Shard>>& shards,
                                       const dispatch::Dispatcher& dispatcher, const Breakers& breakers,
                                       const RankMarks& ranks, const observe::LogWriter* log, const ModelNames& models,
                                       const ForecastKeeper* forecasts, const PressureWatch* pressure,
                                       const KvSubscriber::Statuses& kv_events, Time now);

}  // namespace evenkeel::gateway
