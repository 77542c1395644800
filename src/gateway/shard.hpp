#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "gateway/fleet_map.hpp"
#include "gateway/rank_marks.hpp"
#include "gateway/response_owners.hpp"
#include "gateway/retry_budget.hpp"
#include "gateway/spares.hpp"
#include "http/connection_pool.hpp"
#include "http/listener.hpp"
#include "http/loop.hpp"
#include "observe/counters.hpp"
#include "observe/log_writer.hpp"

namespace evenkeel::gateway {

class Breakers;
class PeerBoard;
class PressureWatch;

/// What all shards share. Each part is thread-safe by itself.
struct Shared {
  const config::ServeSettings& settings;
  dispatch::Dispatcher& dispatcher;
  Breakers& breakers;
  RetryBudget& retries;
  ResponseOwners& responses;
  RankMarks& ranks;
  std::uint64_t prompt_salt = 0;              ///< of prompt keys, for as long as this process lives
  PeerBoard* peers = nullptr;                 ///< null = no peer is declared
  const PressureWatch* pressure = nullptr;    ///< null = off
  observe::LogWriter* access_log = nullptr;   ///< null = off
  std::function<std::string()> metrics_page;  ///< whole text; thread-safe
  std::atomic<std::int64_t> connections{0};
  std::atomic<std::int64_t> requests{0};  ///< begun and not ended, on all shards
  std::atomic<bool> draining{false};
};

/// One relay thread: its loop, its listener, its upstream connections, its counters. A connection lives and dies
/// on the shard that accepted it. Everything here but the counters is for that thread.
class Shard {
 public:
  Shard(Shared& with_all, std::uint64_t seed) : shared(with_all), random(seed), fleet(std::make_shared<FleetMap>()) {}

  /// Before start(): binds. Port 0 takes a free one.
  [[nodiscard]] Result<std::uint16_t> listen(const http::Address& at, bool share_port);
  void start();
  /// Thread-safe: replaces what the shard knows of the fleet.
  void publish(std::shared_ptr<const FleetMap> map);
  /// Thread-safe: no new connections; idle ones are closed.
  void drain();
  /// Thread-safe: requests still open end now, each with an explicit error.
  void cut_off();
  /// Thread-safe: ends the loop and with it every connection.
  void stop();
  void join();

  [[nodiscard]] http::ConnectionPool& pool(const Upstream& upstream);
  /// Learned per worker: tokens in one content event. 1 until usage tells.
  [[nodiscard]] double& tokens_per_event(WorkerId worker);
  /// Learned per worker: whether its usage tells what it found in its prefix cache.
  [[nodiscard]] bool& tells_cached(WorkerId worker);
  /// Learned per model: tokens in one byte of prompt JSON.
  [[nodiscard]] double& tokens_per_byte(ModelId model);

  Shared& shared;
  http::EventLoop loop;
  Random random;
  std::shared_ptr<const FleetMap> fleet;
  observe::ShardCounters counters;
  std::string head_scratch;  ///< for building one head
  Spares spares;
  // Views of one read of one answer, kept here for their capacity: a held stream holds none.
  std::vector<std::string_view> chunk_spans;
  std::vector<std::string_view> out_parts;
  bool draining = false;
  bool cutting = false;

 private:
  void accept(http::Stream stream, const http::Address& peer);
  http::Task<void> sweep_pools(http::Fiber& fiber);

  std::unique_ptr<http::Listener> listener_;
  std::vector<std::unique_ptr<http::ConnectionPool>> pools_;  // by Upstream::engine
  std::vector<double> tokens_per_event_;
  std::deque<bool> tells_cached_;
  std::vector<double> tokens_per_byte_;
  std::thread thread_;
};

}  // namespace evenkeel::gateway
