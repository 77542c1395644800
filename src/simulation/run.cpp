#include "simulation/run.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "dispatch/dispatcher.hpp"
#include "forecast/registry.hpp"
#include "routing/policy.hpp"
#include "simulation/barrier.hpp"
#include "simulation/engines.hpp"
#include "simulation/oracle.hpp"
#include "simulation/timed_policy.hpp"

namespace evenkeel::simulation {

namespace {

Result<std::unique_ptr<routing::Policy>> make(const routing::PolicySpec& spec, std::shared_ptr<const Fates> fates) {
  routing::PolicyParts parts;
  parts.forecast = [fates = std::move(fates)](std::string_view name) -> Result<std::shared_ptr<forecast::Forecast>> {
    if (name == "oracle") return std::make_shared<OracleForecast>(fates);
    return forecast::make_forecast(name).map_error([](Error error) {
      error.message += " (and, in a simulation, oracle)";
      return error;
    });
  };
  return routing::make_policy(spec, parts);
}

class Run;

/// A request from its release to its end; the places are used again. Its number is its id at the engine.
struct Record final : dispatch::Waiter {
  Record(Run& owner, std::uint32_t place) : run(owner), number(place) {}
  void granted(dispatch::Granted granted) override;
  void refused(dispatch::Refused refused) override;

  Run& run;
  const std::uint32_t number;
  bool open = false;
  bool started = false;
  std::uint64_t sequence = 0;  ///< which release it was, from 0
  Releases::Item item;
  Time admitted;
  fleet::Lease lease;
};

class Run final : public engine::EngineSink {
 public:
  Run(const Setting& setting, std::unique_ptr<routing::Policy> policy, Fates& fates, std::uint64_t seed,
      const RunHooks& hooks);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() override;

  Result<RunResult> go();

  void granted(Record& record) { granted_.push_back(&record); }
  void refused() { error_ = "the dispatcher refused a request"; }

  void on_event(const engine::EngineEvent& event) override;
  void on_deliveries(Time at, std::span<const engine::Delivery> deliveries) override;
  void on_step(const engine::StepReport& report) override;

 private:
  [[nodiscard]] std::optional<Time> next_instant() const;
  void instant(Time now);
  void release(Time now);
  void start_granted(Time now);
  void look(Time now);
  void account(Time until);
  void consider_window(Time now);
  void finish(Record& record, Time now);
  [[nodiscard]] Record& vacant();
  [[nodiscard]] std::int64_t steps_made() const { return worker_steps_ / steps_divisor_; }
  [[nodiscard]] std::int64_t overtakes(const Record& record) const;
  void note_starts();
  void trace_loads();
  void close_books(Time now);
  [[nodiscard]] RunResult result(Time end);

  const Setting& setting_;
  const RunHooks& hooks_;
  Fates& fates_;
  ManualClock clock_;
  dispatch::Dispatcher dispatcher_;
  Engines engines_;
  Releases releases_;
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<std::uint32_t> vacant_;
  std::vector<Record*> granted_;
  std::vector<Record*> starting_;         ///< in the step that begins
  std::vector<std::uint64_t> unstarted_;  ///< sequence numbers of what was released and has not started, ascending
  std::uint64_t released_ = 0;
  std::uint64_t started_ = 0;
  std::size_t in_pool_ = 0;  ///< released and without a lease
  std::int64_t leased_ = 0;
  std::int64_t worker_steps_ = 0;
  const std::int64_t steps_divisor_;  ///< steps the engines report for one step of all workers
  std::int64_t told_steps_ = 0;
  std::string error_;

  // The window measured.
  Meter meter_;
  const std::int64_t warm_up_;  ///< three mean outputs, in steps
  std::optional<std::int64_t> filled_at_;
  bool measuring_ = false;
  bool done_ = false;
  Time window_start_{};
  std::int64_t window_first_step_ = 0;
  std::vector<double> loads_;
  std::vector<fleet::StepTime> step_times_;  ///< empty if the workers are equal
  Meter::Loads standing_;                    ///< since the last instant
  Time standing_since_{};
  std::int64_t point_every_ = 0;
  Trajectories trajectories_;
};

void Record::granted(dispatch::Granted granted) {
  lease = std::move(granted.lease);
  run.granted(*this);
}

void Record::refused(dispatch::Refused) { run.refused(); }

dispatch::DispatcherOptions dispatcher_options(const Setting& setting) {
  dispatch::DispatcherOptions options;
  options.pool_requests = 1U << 30U;
  options.pool_timeout = std::chrono::hours(24 * 365 * 50);
  options.overtake_cap = setting.overtake_cap;
  const std::size_t pool = setting.arrivals.kind == Arrivals::Kind::saturated ? setting.arrivals.pool : 0;
  options.plan_window = setting.plan_window > 0 ? setting.plan_window : std::max<std::size_t>(128, pool);
  return options;
}

std::int64_t warm_up_steps(const Setting& setting) {
  const double growth = (1 + static_cast<double>(setting.engine.decode_growth)) / 2;
  return std::llround(3 * setting.lengths.mean_output() / growth);
}

Run::Run(const Setting& setting, std::unique_ptr<routing::Policy> policy, Fates& fates, std::uint64_t seed,
         const RunHooks& hooks)
    : setting_(setting),
      hooks_(hooks),
      fates_(fates),
      dispatcher_(dispatcher_options(setting), std::move(policy), clock_, mix64(seed ^ 0x706f6c696379ULL)),
      engines_(setting),
      releases_(setting.lengths, setting.arrivals, seed),
      steps_divisor_(setting.sync ? 1 : static_cast<std::int64_t>(setting.workers)),
      meter_(setting.workers, setting.slots_total()),
      warm_up_(setting.steps == 0 ? 0 : warm_up_steps(setting)),
      loads_(setting.workers) {
  constexpr std::int64_t unlimited = 1 << 30;
  for (std::size_t worker = 0; worker < setting.workers; ++worker) {
    dispatch::WorkerSpec spec;
    spec.name = fmt::format("w{}", worker);
    spec.models = {ModelId{0}};
    spec.max_in_flight = setting.binding == Binding::late ? setting.engine.slots : unlimited;
    const WorkerId id = dispatcher_.add_worker(std::move(spec));
    dispatcher_.set_step_time(id, setting.step_time(worker));
    dispatcher_.set_state(id, dispatch::WorkerState::routable);
    if (!setting.equal_speeds()) step_times_.push_back(setting.step_time(worker));
  }
  if (setting.trajectory_points > 0) {
    const auto points = static_cast<std::int64_t>(setting.trajectory_points);
    point_every_ = std::max<std::int64_t>(1, (setting.steps + points - 1) / points);
    trajectories_.loads.resize(setting.workers);
  }
}

Run::~Run() {
  dispatcher_.pause();  // the leases that end now make room for nobody
  records_.clear();
}

Record& Run::vacant() {
  if (vacant_.empty()) {
    vacant_.push_back(static_cast<std::uint32_t>(records_.size()));
    records_.push_back(std::make_unique<Record>(*this, vacant_.back()));
  }
  Record& record = *records_[vacant_.back()];
  vacant_.pop_back();
  return record;
}

// --- what the engine tells ---------------------------------------------------------------------------------

void Run::on_event(const engine::EngineEvent& event) {
  if (event.kind != engine::EngineEvent::Kind::started) return;
  Record& record = *records_[event.id];
  if (record.started) return;  // again, after a preemption
  record.started = true;
  record.admitted = event.at;
  starting_.push_back(&record);
}

/// Later releases that started before it, in an earlier step.
std::int64_t Run::overtakes(const Record& record) const {
  const auto place = std::lower_bound(unstarted_.begin(), unstarted_.end(), record.sequence);
  const auto earlier_unstarted = static_cast<std::uint64_t>(place - unstarted_.begin());
  return static_cast<std::int64_t>(started_ - (record.sequence - earlier_unstarted));
}

/// What starts in one step overtakes nobody of the same step.
void Run::note_starts() {
  for (const Record* record : starting_) {
    if (!measuring_) break;
    meter_.admitted(record->admitted - record->item.ready, record->item.request.prompt, overtakes(*record));
  }
  for (const Record* record : starting_) {
    unstarted_.erase(std::lower_bound(unstarted_.begin(), unstarted_.end(), record->sequence));
    ++started_;
  }
  starting_.clear();
}

void Run::on_deliveries(Time at, std::span<const engine::Delivery> deliveries) {
  std::int64_t tokens = 0;
  for (const engine::Delivery& each : deliveries) {
    Record& record = *records_[each.id];
    record.lease.generated(Tokens(each.count));
    tokens += each.count;
    if (each.first && measuring_) meter_.first_token(at - record.item.ready);
    if (each.finished) finish(record, at);
  }
  if (measuring_) meter_.tokens(tokens);
}

void Run::finish(Record& record, Time now) {
  if (measuring_) meter_.finished(now - record.admitted, record.lease.output_tokens().value());
  record.lease.end(fleet::Outcome::completed);
  --leased_;
  releases_.ended(record.item.place, now);
  record.open = false;
  vacant_.push_back(record.number);
}

void Run::on_step(const engine::StepReport& report) {
  ++worker_steps_;
  if (measuring_) meter_.step(report.end - report.start);
}

// --- one instant -------------------------------------------------------------------------------------------

std::optional<Time> Run::next_instant() const {
  const auto engine = engines_.next_event();
  // Workers in step take what has come at the next boundary.
  if (engine && setting_.sync) return engine;
  const auto release = releases_.next();
  if (!engine || (release && *release < *engine)) return release ? release : engine;
  return engine;
}

void Run::instant(Time now) {
  account(now);
  clock_.set(now);
  dispatcher_.pause();
  engines_.advance(now, *this);  // steps end
  consider_window(now);
  if (done_) return;
  release(now);
  dispatcher_.resume(setting_.sync ? steps_made() + 1 : 0);  // the number of the step to come; 0 is nobody's
  start_granted(now);
  engines_.advance(now, *this);  // steps start
  note_starts();
  look(now);
}

void Run::release(Time now) {
  while (true) {
    // Early-bound requests wait at the engines.
    const std::size_t waiting = setting_.binding == Binding::late ? in_pool_ : unstarted_.size();
    auto item = releases_.take(now, waiting);
    if (!item) return;
    Record& record = vacant();
    record.open = true;
    record.started = false;
    record.sequence = released_++;
    record.item = *item;
    unstarted_.push_back(record.sequence);
    ++in_pool_;
    dispatch::Submission submission;
    submission.prompt_tokens = Tokens(item->request.prompt);
    submission.prompt_key = item->request.prompt_key;
    submission.affinity_key = item->request.affinity_key;
    fates_.add(RequestId{released_}, item->request.output);  // the dispatcher counts the same way
    // Nothing is owned: the record outlives the dispatcher's interest in it.
    const auto make_waiter = [&record] { return std::shared_ptr<dispatch::Waiter>(std::shared_ptr<void>(), &record); };
    const auto decision = dispatcher_.submit(submission, make_waiter);
    if (!std::holds_alternative<dispatch::Queued>(decision)) return refused();
  }
}

void Run::start_granted(Time now) {
  for (Record* record : granted_) {
    --in_pool_;
    ++leased_;
    engine::EngineRequest request;
    request.id = record->number;
    request.prompt = Tokens(record->item.request.prompt);
    request.output = Tokens(record->item.request.output);
    request.key = record->sequence + 1;
    const auto outcome = engines_.submit(now, record->lease.worker().value, request);
    if (outcome != engine::SubmitOutcome::accepted) {
      error_ = fmt::format("the engine takes no request of {} prompt tokens: {}", record->item.request.prompt,
                           engine::describe(outcome));
    }
  }
  granted_.clear();
}

/// The loads that stand from now to the next instant.
void Run::look(Time now) {
  standing_ = {};
  for (std::size_t worker = 0; worker < loads_.size(); ++worker) {
    const engine::EngineBooks books = engines_.books(worker);
    // A decode reads what is held and the token it computes.
    loads_[worker] = books.kv_tokens.as_double() + static_cast<double>(books.running);
    standing_.sum += loads_[worker];
    standing_.running += books.running;
  }
  const Barrier barrier = barrier_of(loads_, step_times_, setting_.step_time_of_speed_1());
  standing_.barrier = barrier.height;
  standing_.imbalance = barrier.imbalance;
  const std::int64_t free = std::max<std::int64_t>(0, setting_.slots_total() - leased_);
  standing_.held = std::min(free, static_cast<std::int64_t>(in_pool_));
  standing_since_ = now;
  if (!filled_at_ && standing_.running == setting_.slots_total()) filled_at_ = steps_made();
  if (hooks_.step) {
    StepSeen seen{steps_made() + 1, now, loads_, {}, static_cast<std::int64_t>(in_pool_), standing_.held};
    for (std::size_t worker = 0; worker < loads_.size(); ++worker)
      seen.running.push_back(engines_.books(worker).running);
    hooks_.step(seen);
  }
}

/// The loads of look() have stood until now.
void Run::account(Time until) {
  if (!measuring_ || until == standing_since_) return;
  standing_.weight = setting_.sync ? 1 : to_seconds(until - standing_since_);
  const std::int64_t measured = steps_made() - window_first_step_;
  if (setting_.steps > 0) {
    standing_.position = static_cast<double>(measured) / static_cast<double>(setting_.steps);
  }
  meter_.loads(standing_);
  trace_loads();
}

void Run::trace_loads() {
  if (point_every_ == 0) return;
  const std::int64_t measured = steps_made() - window_first_step_;
  if (measured < static_cast<std::int64_t>(trajectories_.step.size()) * point_every_) return;
  trajectories_.step.push_back(static_cast<double>(measured));
  for (std::size_t worker = 0; worker < loads_.size(); ++worker) trajectories_.loads[worker].push_back(loads_[worker]);
}

void Run::consider_window(Time now) {
  const std::int64_t steps = steps_made();
  if (hooks_.progress && steps - told_steps_ >= 4096) {
    hooks_.progress(steps - told_steps_);
    told_steps_ = steps;
  }
  if (measuring_) {
    done_ = setting_.steps > 0 && steps - window_first_step_ >= setting_.steps;
    return;
  }
  if (steps < warm_up_ + std::min(filled_at_.value_or(warm_up_), warm_up_)) return;
  measuring_ = true;
  window_start_ = now;
  window_first_step_ = steps;
}

// --- the run -----------------------------------------------------------------------------------------------

Result<RunResult> Run::go() {
  Time now{};
  if (setting_.arrivals.kind == Arrivals::Kind::saturated) instant(now);
  while (!done_ && error_.empty()) {
    const auto next = next_instant();
    if (!next) break;
    now = std::max(now, *next);
    instant(now);
  }
  if (!error_.empty()) return failure(error_);
  close_books(now);
  if (!error_.empty()) return failure(error_);
  return result(now);
}

void Run::close_books(Time now) {
  if (const auto ok = engines_.check(); !ok) error_ = "the engine's books: " + ok.error().message;
  if (!dispatcher_.sound()) error_ = "the dispatcher's books are not sound";
  for (const auto& record : records_) {
    if (!record->open || record->started) continue;
    meter_.still_waiting(now - record->item.ready, record->item.request.prompt, overtakes(*record));
  }
}

RunResult Run::result(Time end) {
  if (hooks_.progress) hooks_.progress(steps_made() - told_steps_);
  RunResult result;
  result.metrics = meter_.result(end - window_start_);
  result.metrics.makespan_s = to_seconds(end.time_since_epoch());
  result.imbalance_se = meter_.imbalance_error();
  result.warm_up_steps = window_first_step_;
  result.measured_steps = measuring_ ? steps_made() - window_first_step_ : 0;
  result.window_s = to_seconds(end - window_start_);
  result.trajectories = std::move(trajectories_);
  return result;
}

double percentile_us(std::vector<float>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]);
}

Timing timing_of(std::vector<float>& micros, const RunResult& result, Duration spent) {
  std::sort(micros.begin(), micros.end());
  const auto steps = static_cast<double>(result.warm_up_steps + result.measured_steps);
  return {percentile_us(micros, 50), percentile_us(micros, 99), static_cast<double>(micros.size()),
          spent > Duration(0) ? steps / to_seconds(spent) : 0};
}

}  // namespace

Result<void> check_policy(const routing::PolicySpec& policy) {
  if (auto made = make(policy, std::make_shared<Fates>()); !made) return tl::unexpected(made.error());
  return {};
}

Result<RunResult> run(const Setting& setting, const routing::PolicySpec& spec, std::uint64_t seed,
                      const RunHooks& hooks) {
  const auto fates = std::make_shared<Fates>();
  auto policy = make(spec, fates);
  if (!policy) return tl::unexpected(policy.error());
  std::vector<float> micros;
  const Time begun = hooks.cpu != nullptr ? hooks.cpu->now() : Time();
  if (hooks.cpu != nullptr) policy = std::make_unique<TimedPolicy>(std::move(*policy), *hooks.cpu, micros);
  Run run(setting, std::move(*policy), *fates, seed, hooks);
  auto result = run.go();
  if (!result) return result;
  result->seed = seed;
  if (hooks.cpu != nullptr) result->timing = timing_of(micros, *result, hooks.cpu->now() - begun);
  return result;
}

}  // namespace evenkeel::simulation
