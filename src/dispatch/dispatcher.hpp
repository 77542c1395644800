#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.hpp"
#include "dispatch/decayed_rate.hpp"
#include "dispatch/held_times.hpp"
#include "dispatch/lane.hpp"
#include "dispatch/prefix_hits.hpp"
#include "dispatch/roster.hpp"
#include "dispatch/tape.hpp"
#include "dispatch/waiting_pool.hpp"
#include "redline/fleet_redline.hpp"
#include "routing/least_prefill.hpp"
#include "routing/policy.hpp"

namespace evenkeel::dispatch {

struct DispatcherOptions {
  std::size_t pool_requests = 2048;
  Bytes pool_bytes{256LL << 20U};
  Duration pool_timeout = std::chrono::seconds(60);
  Duration unroutable_wait = std::chrono::seconds(5);  ///< how long a request waits while no worker can be routed to
  /// Later arrivals that may enter before a request; 0 = no cap. Not given: default_overtake_cap, or none under a
  /// policy that bounds overtaking itself.
  std::optional<int> overtake_cap;
  double prompt_weight = 0.2;                           ///< as of FleetView
  std::size_t plan_window = 128;                        ///< waiting requests that one plan looks at
  Duration signal_lifetime = std::chrono::seconds(10);  ///< how long an engine's report of foreign load is believed
  /// What comes and ends at a stepping sync group within this share of its step is looked at together by a policy that
  /// plans_jointly(): a request placed during a step enters with the next one anyway. At most gather_limit.
  double gather_share = 0.1;
  Duration gather_limit = std::chrono::milliseconds(10);
  /// A turn that has held the lock for so long leaves the rest of its planning to another. Needs an alarm.
  Duration turn_budget = std::chrono::microseconds(50);
  double mean_output = 256;                   ///< output tokens a request is taken to have until some have ended; > 0
  affinity::PrefixIndexOptions prefix_index;  ///< of workers that have a prefix cache and a policy that wants_hits()
  redline::Options redline;                   ///< which workers are admissible, under every policy; off at first
};

inline constexpr int default_overtake_cap = 64;

/// A worker as the admin API and metrics show it.
struct WorkerStatus {
  WorkerId id;
  WorkerSpec spec;
  WorkerState state = WorkerState::unroutable;
  fleet::Load load;
  double foreign_requests = 0;
  Tokens foreign_tokens;
  Tokens kv_capacity;
  double rate = 0;  ///< output tokens per second at the present concurrency, 0 = not known
  Duration signal_age{};
  bool reported = false;
  std::uint64_t leases_begun = 0;
  std::int64_t generated_ever = 0;
  bool sound = true;
  PrefixStatus prefixes;
  std::optional<redline::WorkerRedline> redline;  ///< none: it is off
};

/// What the redline has seen and done.
struct RedlineStatus {
  std::vector<redline::FleetStatus> models;
  redline::HeavyClassifier::Counts heavy;
  std::uint64_t held = 0;  ///< requests that had to wait though a slot was free
};

struct PoolStatus {
  std::size_t waiting = 0;
  Bytes bytes;
  Duration oldest{};
  double drain_per_s = 0;
};

/// The only thing that acts: it owns the waiting pool, asks the policy, checks what it wishes, turns placements into
/// leases and answers every request with a lease, "wait" or a refusal. Thread-safe behind one short lock; it
/// runs inline on the caller's thread. Selecting and counting are one step. Deterministic given the order of calls,
/// the clock, the seed and what it reads from the books: a tape notes all of these, and must outlive it.
class Dispatcher final : public fleet::LeaseObserver {
 public:
  Dispatcher(DispatcherOptions options, std::unique_ptr<routing::Policy> policy, const Clock& clock, std::uint64_t seed,
             Tape* tape = nullptr);

  // --- the fleet ---
  WorkerId add_worker(WorkerSpec spec);
  void set_state(WorkerId id, WorkerState state);
  void set_models(WorkerId id, std::vector<ModelId> models);
  void set_max_in_flight(WorkerId id, std::int64_t limit);
  /// In place of set_max_in_flight() and report(), for a worker that is another router's. Values that cannot be are
  /// dropped whole.
  void set_share(WorkerId id, const WorkerShare& share);
  /// What the worker does at each level, measured elsewhere. Without points what is learned here counts again; so it
  /// does while a peer's points are off by more than a factor of two from what was last seen of it.
  void set_rate(WorkerId id, std::span<const fleet::RatePoint> points);
  /// The curve that counts, given or learned: by level, at most 20 points.
  [[nodiscard]] std::vector<fleet::RatePoint> rate_points(WorkerId id) const;
  /// Whether this box takes nothing on: its own workers, but not peers, then get no more requests than those that are
  /// never_shed. A request that nobody else could serve is refused as pressure: one that comes at once, one that waits
  /// after unroutable_wait.
  void set_shedding(bool sheds);
  [[nodiscard]] bool sheds() const;
  /// Learning begins with that, as if each point had been seen for a second, in place of what was learned; without
  /// points with nothing.
  void begin_rate(WorkerId id, std::span<const fleet::RatePoint> points);
  /// Else that of its sync group counts, which is learned.
  void set_step_time(WorkerId id, fleet::StepTime step_time);
  void report(WorkerId id, const EngineReport& report);
  /// How many blocks (as of Submission::prefix) the prefix cache of the worker holds; 0, as it is at first: it has
  /// none. An engine that was started anew has lost them: forget_prefixes().
  void set_prefix_cache(WorkerId id, std::size_t blocks);
  void forget_prefixes(WorkerId id);
  /// Whether who places requests on workers of that role makes something of hits; else no account is kept of them.
  [[nodiscard]] bool wants_hits(fleet::Role role) const;
  [[nodiscard]] PrefixStatus prefixes(WorkerId id) const;
  [[nodiscard]] std::size_t prefix_bytes() const;  ///< that the index takes
  [[nodiscard]] std::vector<WorkerStatus> workers() const;
  /// Whether some worker of the model can be routed to, whether or not it is shed.
  [[nodiscard]] bool routable(ModelId model) const;
  [[nodiscard]] Lane lane(ModelId model) const;
  /// Output tokens per second of its routable workers together, by requests in flight there, learned or given.
  [[nodiscard]] std::vector<fleet::RatePoint> lane_rates(ModelId model) const;
  /// Lane::in_flight alone.
  [[nodiscard]] std::int64_t in_flight_here(ModelId model) const;

  // --- what the policy's forecasts have learned; nothing of a policy that makes none ---
  /// Teaches them what requests of an earlier run were like, oldest first; some microseconds each under the lock.
  void recall(ModelId model, std::span<const forecast::EndedRequest> ended);
  [[nodiscard]] std::vector<forecast::ForecastStatus> forecasts() const;
  /// The last requests of the model that ended, oldest first. With capacity for forecast::history_length the lock is
  /// held for a move of 200 kB.
  void copy_history(ModelId model, std::vector<forecast::EndedRequest>& to) const;

  // --- requests ---
  using MakeWaiter = std::function<std::shared_ptr<Waiter>()>;
  /// `make_waiter` is called only if the request must wait, and must not call the dispatcher; the waiter may be told
  /// before this returns Queued.
  [[nodiscard]] Decision submit(const Submission& submission, const MakeWaiter& make_waiter);
  /// A lease at one worker that nobody chose (the only one, or the owner of what is asked for): counted, but bound
  /// by no limit.
  [[nodiscard]] fleet::Lease lease_at(WorkerId worker, const Submission& submission);
  /// Whether some worker can be routed to that the request may go to.
  [[nodiscard]] bool admissible(const Submission& submission) const;
  /// False if the request waits no more: its waiter has been or is being told.
  bool cancel(RequestId id);

  /// From now on plans may be put off for a moment. `ring` is told when to call plan_due(), from any thread, outside
  /// the lock; it must not call the dispatcher. Without it nothing is put off.
  using Alarm = std::function<void(Time due)>;
  void set_alarm(Alarm ring);
  /// Makes the plan that was put off, if it is due.
  void plan_due();

  /// Between pause() and resume() nothing is placed: what comes and ends in one instant is looked at together, once, at
  /// resume(). `step` is how many decode steps the workers have made by then (FleetView::step).
  void pause();
  void resume(std::int64_t step);
  /// Housekeeping: deadlines, learning, history. Call every 20 to 100 ms.
  void tick();
  /// From now on everything that waits or comes is refused as shutting_down.
  void close();
  [[nodiscard]] PoolStatus pool() const;
  /// Nothing if it is off.
  [[nodiscard]] std::optional<RedlineStatus> redline() const;
  /// Whether the redline takes no heavy requests of the model now. Takes no lock if it is off.
  [[nodiscard]] bool frozen(ModelId model) const;
  /// How long the lock was held, each time.
  [[nodiscard]] HeldTimes held() const;
  /// Whether the policy looks at Submission::prefix and told_hits.
  [[nodiscard]] bool wants_hits() const { return policy_->wants_hits(); }
  [[nodiscard]] std::string_view policy_name() const { return policy_->name(); }
  /// All books sound, see WorkerBooks::sound().
  [[nodiscard]] bool sound() const;

  void lease_ended(const fleet::LeaseSummary& told) override;

 private:
  class Turn;
  /// What must be told once the lock is released.
  struct Verdict {
    std::shared_ptr<Waiter> waiter;
    std::variant<Granted, Refused> what;
  };
  struct Verdicts {
    std::vector<Verdict> all;
    Time ring = Time::max();
  };
  struct ModelState {
    WaitingPool pool;
    DecayedRate drain;
    double mean_output;      ///< learned, from the options' on
    std::int64_t ended = 0;  ///< requests that it is learned from
  };

  Decision decide(const Submission& submission, const MakeWaiter& make_waiter, Verdicts& verdicts);
  ModelState& model_state(ModelId model);
  [[nodiscard]] routing::Policy& planner();
  [[nodiscard]] std::size_t waiting_total() const;
  [[nodiscard]] bool any_routable(const Submission& submission) const {
    return any_routable(submission.model, submission.excluded, reach_of(submission));
  }
  [[nodiscard]] bool any_routable(ModelId model, const Excluded& excluded, fleet::Reach reach) const;

  // peers.cpp: which kinds of workers a request may go to
  [[nodiscard]] fleet::Reach reach_of(const Submission& submission) const {
    return {!sheds_ || submission.never_shed, !submission.from_peer};
  }
  /// Whether nothing but shedding keeps it from all workers.
  [[nodiscard]] bool shed_away(const Submission& submission) const;
  /// The reason of peers::reason_of() for a placement that is about to be made; empty where there are no peers.
  [[nodiscard]] std::string_view route_of(const Submission& submission, const WorkerRecord& to) const;

  [[nodiscard]] std::optional<fleet::Refusal> refusal_for(const Submission& submission, const ModelState& model,
                                                          Time now) const;
  [[nodiscard]] Duration retry_after(const ModelState& model, Time now) const;
  Granted grant(const Submission& submission, RequestId id, WorkerRecord& worker, std::string_view reason,
                std::uint32_t considered, Tokens hit, Time arrived, Time now);
  void view_worker(const WorkerRecord& record, Time now, fleet::WorkerView& view) const;

  // guard.cpp: the redline's part of a step
  /// Tells it of the workers viewed, and looks whether the fleet of the model is to freeze.
  void show_redline(ModelId id, const ModelState& model, Time now);
  /// All models; also while nobody asks for a worker.
  void look_at_redline(Time now);
  [[nodiscard]] redline::Demand demand_of(const Submission& submission) const;
  [[nodiscard]] bool held_by_redline(const fleet::WorkerView& worker, const redline::Demand& demand, Time now) const;
  /// Whether a heavy request came while the fleet is frozen, and no worker that is viewed has room for it.
  [[nodiscard]] bool turned_away_by_redline(const Submission& submission, const ModelState& model, Time now);
  /// Books a placement, and the verdict on it in its receipt; what is viewed of the worker is charged for it.
  void book_with_redline(const redline::Demand& demand, fleet::WorkerView& worker, Granted& granted, Time now);

  [[nodiscard]] std::optional<Granted> place_now(const Submission& submission, ModelState& model, RequestId id,
                                                 Time arrived, Time now);
  void step(ModelId id, ModelState& model, Time now, Verdicts& verdicts);
  /// Puts the plan off if what else comes and ends in this step of `worker`'s sync group should be looked at with it.
  [[nodiscard]] bool put_off(const WorkerRecord& worker, Time now, Verdicts& verdicts);
  [[nodiscard]] bool put_off(ModelId model, Time now, Verdicts& verdicts);
  [[nodiscard]] std::int64_t steps_made() const;
  /// Steps the models of one worker, or all if null: first the one whose head is most urgent, then oldest.
  void step_models(const WorkerRecord* of, Time now, Verdicts& verdicts);
  /// The set of workers that can be routed to has changed: notes of each waiting request whether one is left for it.
  void note_routability(Time now);
  [[nodiscard]] bool over_budget(Time began, Verdicts& verdicts);
  [[nodiscard]] bool someone_is_held(ModelState& model, Time now) const;
  bool view_fleet(ModelId id, const ModelState& model, Time now, fleet::Reach reach = {});
  void view_running();
  bool view_waiting(ModelState& model, Time now);
  /// Where the candidates of such a request stand in candidates_: begin and count.
  /// `demand` is null if the redline is off.
  std::pair<std::size_t, std::size_t> view_candidates(const Excluded& excluded, fleet::Reach reach,
                                                      const redline::Demand* demand, Time now);
  void check_due(ModelState& model, Time now, Verdicts& verdicts);
  /// Outside the lock: rings the alarm if a plan was put off, tells what became of waiting requests.
  void tell(Verdicts& verdicts);

  const DispatcherOptions options_;
  const Clock& clock_;
  Tape* const tape_;
  const BooksReader books_;
  mutable std::mutex mutex_;
  HeldTimes held_;
  std::unique_ptr<routing::Policy> policy_;
  routing::LeastPrefill prefill_policy_;  ///< for workers that only prefill, whatever the others' is
  Random random_;
  Roster roster_;
  PrefixHits prefixes_;
  std::optional<redline::FleetRedline> redline_;
  std::uint64_t held_back_ = 0;
  bool redline_refuses_ = false;  ///< the request that is being decided
  bool redline_holds_ = false;    ///< it leaves no room for the last submission though a slot is free
  std::map<ModelId, ModelState> models_;
  std::uint64_t next_request_ = 1;
  const bool wants_running_;
  const bool keeps_running_;  ///< for the policy or the redline
  bool closed_ = false;
  bool sheds_ = false;
  bool has_peers_ = false;  ///< some worker is, or was, another router's box
  bool paused_ = false;
  std::int64_t step_ = 0;       ///< as resume() said; 0 = nobody does
  Time plan_at_ = Time::max();  ///< when what was put off is due
  Alarm ring_;
  const bool plans_jointly_;
  Time history_noted_ = Time::min();

  // Scratch of one step, kept for its capacity.
  std::vector<fleet::WorkerView> workers_view_;
  std::vector<fleet::RunningView> running_view_;
  std::vector<fleet::RunningView> resident_view_;  ///< of one worker, for the redline
  std::vector<fleet::WaitingView> waiting_view_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::pair<std::size_t, std::size_t>> candidate_ranges_;
  std::vector<fleet::Placement> placements_;
  std::vector<std::tuple<std::int64_t, RequestId, ModelId>> heads_;
};

}  // namespace evenkeel::dispatch
