#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/calibration.hpp"
#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "engines/adapter.hpp"
#include "engines/discovery.hpp"
#include "gateway/breakers.hpp"
#include "gateway/cache_watch.hpp"
#include "gateway/fleet_map.hpp"
#include "gateway/hosted_model.hpp"
#include "gateway/kv_subscriber.hpp"
#include "gateway/learned_limit.hpp"
#include "gateway/rank_judge.hpp"
#include "gateway/rank_marks.hpp"
#include "http/client.hpp"
#include "http/loop.hpp"

namespace evenkeel::gateway {

/// Keeps the fleet: which engines there are, what kind each is, how many data-parallel ranks it has, which models it
/// serves, whether it answers, what it reports. Each rank of an engine is a worker, or the engine as a whole is one.
/// One fiber an engine on the control loop, so that a hung engine delays nobody else's probes; an engine is asked once
/// however many ranks it has. Publishes a new FleetMap whenever what shards need has changed. Control thread only.
class FleetControl {
 public:
  using Publish = std::function<void(std::shared_ptr<const FleetMap>)>;

  FleetControl(const config::ServeSettings& settings, http::EventLoop& loop, dispatch::Dispatcher& dispatcher,
               Breakers& breakers, RankMarks& marks, KvSubscriber& kv_events, Publish publish);

  /// Joins an engine, returns its name; its workers become routable once it has told its models (or they are given),
  /// its ranks (likewise) and answered a probe.
  /// Errors of a name or URL that another worker has begin with `taken`.
  [[nodiscard]] Result<std::string> add(const config::WorkerSetting& setting);
  static constexpr std::string_view taken = "there is a worker ";

  // `name` is an engine's, and then all its workers are meant, or that of one rank, "engine@3". False if there is none.
  /// Takes nothing new; forgotten by shards, its leases end by themselves. A rank comes back with its engine only.
  bool remove(std::string_view name);
  bool drain(std::string_view name);
  bool activate(std::string_view name);
  bool set_max_in_flight(std::string_view name, std::int64_t limit);

  /// Of a model by the name that its engines serve it by; of one not met yet a new one.
  ModelId model_id(const std::string& served);

  /// What `evenkeel calibrate` measured of a worker.
  struct CalibrationFacts {
    std::int64_t slots = 0;
    std::vector<fleet::RatePoint> points;  ///< by level
    std::int64_t measured_at_ms = 0;       ///< Unix time
    std::string why_not;                   ///< it does not count now; empty: it does
  };
  struct WorkerFacts {
    std::string engine;  ///< its name
    std::string url;
    std::string kind;
    std::optional<std::uint32_t> rank;
    std::string group;  ///< that it steps with; empty = on its own
    fleet::Role role = fleet::Role::both;
    std::optional<std::uint16_t> bootstrap_port;  ///< of a prefill engine of SGLang
    std::optional<bool> rank_honoured;  ///< of the engine, see RankJudge; nothing where it has no ranks or none knows
    std::vector<std::string> models;
    std::string last_error;  ///< of the last bad probe, else what is wrong with its rank or its KV events
    std::optional<engines::KvFeedStatus> kv_events;  ///< nothing where it tells of none
    std::optional<CalibrationFacts> calibration;     ///< nothing where it has none
  };
  [[nodiscard]] std::optional<WorkerFacts> facts(WorkerId id) const;

  // fleet_peers.cpp: what peers need
  /// What engines of our own serve, one a model, as far as they have told.
  [[nodiscard]] std::vector<HostedModel> hosted() const;
  /// A worker of the dispatcher that is a peer's becomes known to shards. Its upstream gets the number of an engine:
  /// that of its name, so that what a peer serves goes over one set of connections. Again with another: replaces it.
  void lend(Upstream upstream, const std::string& served, std::int64_t max_model_len);
  /// Whether clients see the model, even if nobody else serves it.
  void list_lent(WorkerId worker, bool listed);
  [[nodiscard]] std::shared_ptr<const FleetMap> map() const { return map_; }
  /// Ends the probes; the loop can then run out.
  void stop();

 private:
  struct Worker {
    WorkerId id{};
    std::optional<std::uint32_t> rank;
    std::string name;
    LearnedLimit limit;
    CacheWatch cache;
    std::size_t cache_blocks = 0;  ///< as the dispatcher was told
    std::shared_ptr<const Upstream> upstream{};
    std::uint64_t refusals = 0;  ///< of its rank, as far as they were told
    std::string complaint{};
    bool calibrated = false;                          ///< the dispatcher was told
    std::shared_ptr<engines::KvEventFeed> kv_feed{};  ///< null: it tells of none
    int mute_probes = 0;                              ///< in which kv_feed should have heard of it, and never had
  };
  struct Engine {
    std::uint32_t number = 0;  ///< its place in engines_
    std::string name;
    config::WorkerSetting setting;
    http::Url url;
    http::Address address;
    std::string authorization;
    fleet::Role role = fleet::Role::both;
    const engines::Adapter* adapter = nullptr;
    std::vector<Worker> workers;  ///< its ranks, by number, or one
    std::vector<engines::ModelCard> cards;
    std::vector<std::string> models;
    std::string last_error;
    bool discovered = false;
    bool kind_known = false;
    bool draining = false;
    bool stopped = false;
    bool role_refused = false;  ///< and said so
    std::uint16_t bootstrap_port = engines::default_bootstrap_port;
    bool part_known = false;  ///< of SGLang: it told its part, or cannot

    /// It takes part in hand-overs of SGLang, where both legs go out at once.
    [[nodiscard]] bool meets() const;
    std::optional<calibrate::Calibration> calibration;                             ///< as its file has it
    std::string calibration_fault = "the engine has not told yet what it serves";  ///< why it does not count
    std::string version;  ///< asked for only where there is a calibration
    int bad_probes = 0;
    Time models_read = Time::min();
    http::Fiber* fiber = nullptr;
    http::ConnectionPool connections{{}};

    // Ranks.
    bool ranks_declared = false;
    std::size_t ranks = 0;            ///< that it has; 0 = not known yet
    std::size_t other_ranks = 0;      ///< told in the last report, if it was another number
    bool ignores_rank = false;        ///< so it is one worker in spite of its ranks
    std::set<std::uint32_t> dropped;  ///< removed by the operator
    RankJudge judge;
    std::optional<bool> rank_honoured;
  };
  using EnginePtr = std::shared_ptr<Engine>;
  struct Place {
    EnginePtr engine;
    std::optional<std::uint32_t> rank;
  };

  // fleet_probe.cpp: asking
  http::Task<void> watch(http::Fiber& fiber, EnginePtr engine);
  http::Task<void> probe(http::Fiber& fiber, Engine& engine);
  http::Task<void> discover_kind(http::Fiber& fiber, Engine& engine);
  http::Task<bool> read_models(http::Fiber& fiber, Engine& engine);
  http::Task<void> scrape(http::Fiber& fiber, Engine& engine);
  http::Task<http::FetchResult> get(http::Fiber& fiber, Engine& engine, std::string_view path);
  void note_bad_probe(Engine& engine);
  [[nodiscard]] static bool can_have_role(Engine& engine);
  [[nodiscard]] EnginePtr at_odds_with(const Engine& engine) const;
  [[nodiscard]] bool fits_others(Engine& engine) const;
  http::Task<bool> read_part(http::Fiber& fiber, Engine& engine);
  void take_models(Engine& engine, std::vector<engines::ModelCard> cards);

  // fleet_calibration.cpp: what was measured of an engine, as long as it is that engine
  http::Task<void> read_version(http::Fiber& fiber, Engine& engine);
  [[nodiscard]] std::string calibration_fault(const Engine& engine) const;
  /// Once its models and kind are known, and again after each change of them or of its workers.
  void follow_calibration(Engine& engine);
  [[nodiscard]] static std::optional<CalibrationFacts> calibration_facts(const Engine& engine);

  // fleet_ranks.cpp: engines and their workers
  void take_reading(Engine& engine, const engines::Reading& reading, Time asked, Time received);
  /// What a report tells of a worker's prefix cache; of an engine that makes none an empty one.
  void follow_cache(const Engine& engine, Worker& worker, const engines::Report& report);
  void drop_cache(Worker& worker);
  void take_report(const Engine& engine, Worker& worker, const engines::Report& report, Time asked, Time received);
  void count_ranks(Engine& engine, const std::vector<engines::RankReport>& told);
  void judge_ranks(Engine& engine, const std::vector<const engines::Report*>& reports, Time asked, Time received);
  void note_refusals(Engine& engine);
  /// Its workers' KV-cache events are received, once it is known which ranks there are.
  void follow_kv_events(Engine& engine);
  void leave_kv_events(const Worker& worker);
  /// Whoever sets kv_events expects it to be known what a cache holds: that nothing ever comes is said, once.
  void note_mute(Worker& worker, std::uint64_t begun) const;
  void note_served(Engine& engine);
  /// Makes its workers those that it should have: each rank that can be addressed, or one.
  void apply_ranks(Engine& engine);
  using RankNumbers = std::vector<std::optional<std::uint32_t>>;
  void replace_workers(Engine& engine, const RankNumbers& wanted);
  Worker make_worker(Engine& engine, std::optional<std::uint32_t> rank);
  [[nodiscard]] std::string group_of(const Engine& engine, bool ranked) const;
  [[nodiscard]] std::shared_ptr<const Upstream> upstream_of(const Engine& engine, const Worker& worker) const;
  void renew_upstreams(Engine& engine);
  static void find_address(Engine& engine);

  /// Served by a peer.
  struct Lent {
    std::shared_ptr<const Upstream> upstream;
    ModelId model;
    std::int64_t max_model_len = 0;  ///< 0 = not told
    bool listed = true;
  };
  [[nodiscard]] WorkerFacts facts_of(const Lent& lent) const;
  [[nodiscard]] peers::Fingerprint declared_of(const std::string& served) const;
  /// The window of models whose names were given, which nobody asks the engine for otherwise.
  http::Task<void> read_windows(http::Fiber& fiber, Engine& engine);
  void add_lent(FleetMap& map, std::vector<bool>& wanted) const;

  void rebuild_map();
  /// As which the dispatcher knows what `engine` does of a model: prefill is a model of its own.
  ModelId dispatched_id(const Engine& engine, const std::string& served);
  ModelId prefill_set(ModelId whole);
  EnginePtr engine_named(std::string_view name) const;
  /// The workers that a name of the operator means, and their engine.
  std::pair<EnginePtr, std::vector<Worker*>> named(std::string_view name) const;

  const config::ServeSettings& settings_;
  http::EventLoop& loop_;
  dispatch::Dispatcher& dispatcher_;
  Breakers& breakers_;
  RankMarks& marks_;
  KvSubscriber& kv_events_;
  Publish publish_;
  std::vector<EnginePtr> engines_;  // by number; null where one was removed and its name has not come back
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of every name there ever was
  std::vector<Place> places_;                                  // by WorkerId, also of workers that are gone
  std::map<WorkerId, Lent> lent_;
  std::map<std::string, ModelId> model_ids_;
  std::map<ModelId, ModelId> prefill_ids_;  // of models that had a prefill worker ever
  std::vector<std::string> served_;         // by ModelId; empty of prefill
  std::shared_ptr<const FleetMap> map_ = std::make_shared<FleetMap>();
};

}  // namespace evenkeel::gateway
