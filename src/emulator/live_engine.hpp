#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/gauge_history.hpp"
#include "emulator/kv_publisher.hpp"
#include "emulator/meter.hpp"
#include "emulator/rank_balancer.hpp"
#include "engine/cache_observer.hpp"
#include "engine/model.hpp"
#include "http/loop.hpp"

namespace evenkeel::emulator {

/// Output of one sequence of one request in one step.
struct Output {
  std::uint32_t sequence = 0;
  std::int64_t count = 0;
  bool finished = false;
  Time at;                  ///< engine time
  std::int64_t cached = 0;  ///< prompt tokens that were found in the prefix cache when it was first admitted
};

/// Where the outputs of one request arrive; its fiber is woken. Must outlive the sequences it was given for.
struct Inbox {
  http::Fiber& fiber;
  std::vector<Output> outputs{};
  bool pulling = false;  ///< the engine has blocks for the KV that the request's only sequence wants to pull
};

struct LiveEngineOptions {
  engine::EngineConfig config;
  bool sync = true;  ///< several ranks share each step; else each steps by itself
  RankBalancing balancing = RankBalancing::current;
  double scale = 1;
};

/// An engine model whose clock is driven by a loop's: engine time runs `scale` times as fast as real time, or
/// stands still while stalled. Loop thread only. Events keep the model's own times, so a late wake-up of the
/// loop delays their delivery but not the engine.
class LiveEngine final : private engine::EngineSink, public std::enable_shared_from_this<LiveEngine> {
 public:
  /// `options` must be valid. The engine's fiber lives as long as the loop.
  [[nodiscard]] static Result<std::shared_ptr<LiveEngine>> start(http::EventLoop& loop,
                                                                 const LiveEngineOptions& options);

  [[nodiscard]] engine::SubmitOutcome submit(const engine::EngineRequest& request, Inbox& inbox,
                                             std::uint32_t sequence);
  /// Ends the request at once if it still runs; nothing more of it arrives.
  void abort(engine::RequestId id);
  /// Not finished and not aborted.
  [[nodiscard]] bool in_service(engine::RequestId id) const { return routes_.contains(id); }
  /// What a pull came to; see engine::EngineModel.
  void kv_arrived(engine::RequestId id, bool whole);
  /// Frees what a finished request keeps.
  void free_kept(engine::RequestId id);
  /// When to look whether it is that engine time: then, or soon if the engine is stalled.
  [[nodiscard]] Time real_time_of(Time engine_time) const;
  /// Until that engine time.
  http::Task<void> wait_until(http::Fiber& fiber, Time engine_time);
  [[nodiscard]] engine::RequestId next_id() { return ++last_id_; }
  /// A stalled engine takes requests and aborts and makes no progress.
  void set_stalled(bool stalled);

  /// Its ranks' KV-cache events go there from now on.
  void publish_to(std::shared_ptr<KvPublisher> publisher);
  [[nodiscard]] KvPublisher* publisher() const { return publisher_.get(); }
  /// Nothing is found in the prefix caches any more. As a new process the engine counts its events from 0 again, else
  /// it publishes that.
  void clear_caches(bool as_new_process);
  [[nodiscard]] std::size_t cached_blocks(std::size_t rank) const {
    return caches_ == nullptr ? 0 : caches_->cached_blocks(rank);
  }

  [[nodiscard]] std::size_t ranks() const { return model_->ranks(); }
  /// The rank that the engine itself gives the next request.
  [[nodiscard]] std::size_t choose_rank();
  [[nodiscard]] engine::EngineBooks books(std::size_t rank) const { return model_->books(rank); }
  [[nodiscard]] std::int64_t steps(std::size_t rank) const { return steps_[rank]; }  ///< empty ones too
  /// Sequences that the rank was ever given.
  [[nodiscard]] std::int64_t received(std::size_t rank) const { return received_[rank]; }
  [[nodiscard]] Measured measured() const { return meter_.result(); }
  void restart_measuring() { meter_.restart(now()); }
  /// Engine time now.
  [[nodiscard]] Time now() const;
  [[nodiscard]] double real_seconds(Duration engine_time) const { return to_seconds(engine_time) / scale_; }
  /// Of what gauges() shows; real time.
  void set_gauge_lag(Duration lag) { history_.set_lag(lag, loop_.now(), *model_); }
  /// What each rank publishes, as it was that lag ago.
  [[nodiscard]] std::vector<engine::EngineGauges> gauges() const { return history_.shown(loop_.now(), *model_); }

 private:
  struct Route {
    Inbox* inbox = nullptr;
    std::uint32_t sequence = 0;
    std::size_t rank = 0;
    bool started = false;
    Time started_at;
    std::int64_t generated = 0;
    std::int64_t cached = 0;
  };

  LiveEngine(http::EventLoop& loop, std::unique_ptr<engine::EngineModel> model, const LiveEngineOptions& options);
  static http::Task<void> drive(http::Fiber& fiber, std::shared_ptr<LiveEngine> self);
  void catch_up();
  void wake_driver();
  void set_anchor();
  void on_event(const engine::EngineEvent& event) override;
  void on_deliveries(Time at, std::span<const engine::Delivery> deliveries) override;
  void on_step(const engine::StepReport& report) override;
  void deliver(Time at, const engine::Delivery& delivery);
  void finish(engine::RequestId id, Time at);

  http::EventLoop& loop_;
  std::unique_ptr<engine::EngineModel> model_;
  engine::CachedRanks* const caches_;  ///< the model, if its ranks may have some
  std::shared_ptr<KvPublisher> publisher_;
  double scale_;
  RankBalancer balancer_;
  Meter meter_;
  std::vector<std::int64_t> in_flight_;  ///< by rank
  std::vector<std::int64_t> received_;   ///< by rank
  std::vector<std::int64_t> steps_;      ///< by rank
  std::vector<std::uint64_t> told_;      ///< by rank: the catch-up in which its last step was told
  std::uint64_t catch_ups_ = 0;
  Time catching_up_to_;
  bool stalled_ = false;
  Time anchor_real_;  ///< when engine time was anchor_engine_
  Time anchor_engine_;
  engine::RequestId last_id_ = 0;
  std::unordered_map<engine::RequestId, Route> routes_;
  http::Fiber* driver_ = nullptr;  ///< null once its frame is gone
  GaugeHistory history_;
};

}  // namespace evenkeel::emulator
