#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "engine/rate_engine.hpp"
#include "peers/reason.hpp"
#include "simulation/peer_boxes.hpp"

namespace evenkeel::simulation {

/// How routers of different boxes learn of each other's load.
enum class Exchange : std::uint8_t {
  books,   ///< each tells its own counts: when asked, with every answer, and when a slot is released
  gauges,  ///< each reads the gauges of the other's engine when it asks
};

/// What lies between the boxes.
struct Network {
  Duration probe_round_trip{};  ///< a probe is answered half-way
  Duration forward_delay{};     ///< one way, of requests, of answers and of news
  Duration gauge_lag{};         ///< the gauges of an engine show how it was so long ago
};

/// One request of the experiment and what became of it.
struct PeerRequest {
  std::size_t entered = 0;  ///< box whose router a client sent it to
  std::int64_t tokens = 0;
  std::uint64_t client = 0;
  std::optional<std::size_t> only;  ///< box that alone may serve it
  bool never_shed = false;
  Time submitted{};
  std::optional<Time> started;  ///< when an engine began to serve it
  std::optional<Time> ended;    ///< when the client had it all
  std::size_t served = 0;       ///< box, once started
  peers::RouteReason reason = peers::RouteReason::none;
  bool ahead = false;  ///< it was forwarded before a slot was free there
  int hops = 0;        ///< times it went from one router to another, but for what came back
  bool refused = false;
  bool cancelled = false;
  bool direct = false;  ///< it came to the engine past all routers

  [[nodiscard]] bool open() const { return !ended && !refused && !cancelled; }
};

class PeerWorld;

/// A router as the world drives it.
class BoxRouter {
 public:
  virtual ~BoxRouter() = default;
  virtual void submit(std::size_t request) = 0;
  /// Forwarded here by the router of box `from`.
  virtual void arrive(std::size_t request, std::size_t from) = 0;
  /// Of a request that this router gave to its engine.
  virtual void token(std::size_t request) = 0;
  virtual void finished(std::size_t request) = 0;
  virtual void cancel(std::size_t request) = 0;
  virtual void tick() = 0;
  /// No request, lease or dispatch is left in its books.
  [[nodiscard]] virtual bool empty() const = 0;
};

/// Boxes and what lies between them, event by event in virtual time. Events of one instant come in the order in which
/// they were caused. The same calls give the same events.
class PeerWorld final : private engine::EngineSink {
 public:
  PeerWorld(std::vector<Box> boxes, Network network);
  ~PeerWorld() override;

  /// Once, before anything else; the routers may use the world from their construction on.
  void set_routers(std::vector<std::unique_ptr<BoxRouter>> routers) { routers_ = std::move(routers); }

  // --- for whoever runs the experiment ---
  std::size_t submit(std::size_t box, std::int64_t tokens, std::uint64_t client = 1,
                     std::optional<std::size_t> only = {}, bool never_shed = false);
  /// To the engine, past all routers.
  std::size_t submit_direct(std::size_t box, std::int64_t tokens);
  void cancel(std::size_t request);
  /// The engine goes on at other rates, as many as it has slots.
  void set_rates(std::size_t box, std::vector<double> tokens_per_s);
  void run_until(Time end);
  /// Until every request that came through a router is done with; false if `limit` comes first.
  bool run_until_done(Duration limit = std::chrono::hours(24 * 365));
  [[nodiscard]] const std::vector<PeerRequest>& requests() const { return requests_; }
  [[nodiscard]] BoxRouter& router(std::size_t box) { return *routers_[box]; }
  /// Most that an engine ever held, running and in its own queue.
  [[nodiscard]] std::int64_t most_running(std::size_t box) const { return engines_[box].most_running; }
  [[nodiscard]] std::int64_t most_queued(std::size_t box) const { return engines_[box].most_queued; }
  std::function<void(std::size_t request)> on_done;
  /// Whether a probe that is sent now from one box to another is lost. None is if this is not set.
  std::function<bool(std::size_t from, std::size_t to)> loses_probe;

  // --- for routers ---
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Time now() const { return clock_.now(); }
  [[nodiscard]] const std::vector<Box>& boxes() const { return boxes_; }
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] PeerRequest& request(std::size_t id) { return requests_[id]; }
  void after(Duration delay, std::function<void()> what);
  void to_engine(std::size_t box, std::size_t request);
  void abort(std::size_t box, std::size_t request);
  /// The client has its whole answer, or a refusal.
  void done(std::size_t request);
  void refuse(std::size_t request);
  /// Requests at the engine as its gauges show them now.
  [[nodiscard]] double gauge(std::size_t box) const;

 private:
  struct Engine {
    std::unique_ptr<engine::RateEngine> model;  ///< none: the box hosts nothing
    std::deque<std::pair<Time, double>> gauge;  ///< (since, requests), as far back as the gauge lags
    std::int64_t most_running = 0;
    std::int64_t most_queued = 0;
  };
  struct Event {
    Time at;
    std::uint64_t order = 0;
    std::function<void()> what;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };

  void on_event(const engine::EngineEvent& event) override;
  [[nodiscard]] Time next_event() const;
  void step(Time to);
  void settle_engines();
  void tell(std::size_t box, const engine::EngineEvent& event);
  void note_gauge(Engine& engine);

  ManualClock clock_;
  std::vector<Box> boxes_;
  Network network_;
  std::vector<Engine> engines_;
  std::vector<std::unique_ptr<BoxRouter>> routers_;
  std::vector<PeerRequest> requests_;
  std::vector<engine::EngineEvent> heard_;  ///< from the engine that is being brought up to now
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t order_ = 0;
  std::size_t open_ = 0;
  Time next_tick_{};
};

}  // namespace evenkeel::simulation
