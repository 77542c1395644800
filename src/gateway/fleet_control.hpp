#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "dispatch/dispatcher.hpp"
#include "engines/adapter.hpp"
#include "engines/discovery.hpp"
#include "gateway/breakers.hpp"
#include "gateway/fleet_map.hpp"
#include "http/client.hpp"
#include "http/loop.hpp"

namespace evenkeel::gateway {

/// Keeps the fleet: which workers there are, what kind each is, which models it serves, whether it answers, what it
/// reports. One fiber a worker on the control loop, so that a hung worker delays nobody else's probes. Publishes a
/// new FleetMap whenever what shards need has changed. Control thread only.
class FleetControl {
 public:
  using Publish = std::function<void(std::shared_ptr<const FleetMap>)>;

  FleetControl(const config::ServeSettings& settings, http::EventLoop& loop, dispatch::Dispatcher& dispatcher,
               Breakers& breakers, Publish publish);

  /// Joins a worker; it becomes routable once it has told its models (or they are given) and answered a probe.
  [[nodiscard]] Result<WorkerId> add(const config::WorkerSetting& setting);
  /// Takes nothing new; forgotten by shards, its leases end by themselves.
  bool remove(std::string_view name);
  bool drain(std::string_view name);
  bool activate(std::string_view name);
  bool set_max_in_flight(std::string_view name, std::int64_t limit);

  struct WorkerFacts {
    std::string url;
    std::string engine;
    std::vector<std::string> models;
    std::string last_error;  ///< of the last bad probe
    bool removed = false;
  };
  [[nodiscard]] const WorkerFacts* facts(WorkerId id) const;
  [[nodiscard]] std::shared_ptr<const FleetMap> map() const { return map_; }
  /// Ends the probes; the loop can then run out.
  void stop();

 private:
  struct Worker {
    WorkerId id;
    config::WorkerSetting setting;
    http::Url url;
    std::shared_ptr<Upstream> upstream;
    WorkerFacts facts;
    std::vector<engines::ModelCard> cards;
    bool discovered = false;
    bool kind_known = false;
    bool stopped = false;
    Time models_read = Time::min();
    std::int64_t limit = 0;    ///< in force
    std::int64_t ceiling = 0;  ///< what it was learned down from
    bool limit_given = false;  ///< by the operator: never learned
    std::optional<double> preemptions;
    http::Fiber* fiber = nullptr;
    http::ConnectionPool connections{{}};
  };

  http::Task<void> watch(http::Fiber& fiber, Worker* worker);
  http::Task<void> probe(http::Fiber& fiber, Worker& worker);
  http::Task<void> discover_kind(http::Fiber& fiber, Worker& worker);
  http::Task<bool> read_models(http::Fiber& fiber, Worker& worker);
  http::Task<void> scrape(http::Fiber& fiber, Worker& worker);
  http::Task<http::FetchResult> get(http::Fiber& fiber, Worker& worker, std::string_view path);
  static void find_address(Worker& worker);
  void take_models(Worker& worker, std::vector<engines::ModelCard> cards);
  void take_limit(Worker& worker, const engines::Report& report);
  void rebuild_map();
  ModelId model_id(const std::string& served);
  Worker* find(std::string_view name);

  const config::ServeSettings& settings_;
  http::EventLoop& loop_;
  dispatch::Dispatcher& dispatcher_;
  Breakers& breakers_;
  Publish publish_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by WorkerId
  std::vector<std::unique_ptr<Worker>> retired_;  // whose name joined again while their fiber was ending
  std::map<std::string, ModelId> model_ids_;
  std::vector<std::string> served_;  // by ModelId
  std::shared_ptr<const FleetMap> map_ = std::make_shared<FleetMap>();
  bool stopped_ = false;
};

}  // namespace evenkeel::gateway
