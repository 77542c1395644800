#include "simulation/run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "dispatch/dispatcher.hpp"
#include "simulation/backlog.hpp"
#include "simulation/engines.hpp"
#include "simulation/policies.hpp"
#include "simulation/release_order.hpp"
#include "simulation/stale_policy.hpp"
#include "simulation/timed_policy.hpp"

namespace evenkeel::simulation {

namespace {

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
  std::uint64_t release = 0;  ///< its number in ReleaseOrder
  Releases::Item item;
  Time admitted;
  std::shared_ptr<const engine::PromptPrefix> prefix;
  ReuseCount reuse;
  fleet::Lease lease;
};

class Run final : public engine::EngineSink {
 public:
  /// `stale` is the policy itself if that must be told reports, else null.
  Run(const Setting& setting, std::unique_ptr<routing::Policy> policy, StalePolicy* stale, Fates& fates,
      std::uint64_t seed, const RunHooks& hooks);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() override;

  Result<RunResult> go();

  void granted(Record& record) { granted_.push_back(&record); }
  void refused(Record& record, fleet::Refusal why);

  void on_event(const engine::EngineEvent& event) override;
  void on_deliveries(Time at, std::span<const engine::Delivery> deliveries) override;
  void on_step(const engine::StepReport& report) override;

 private:
  [[nodiscard]] std::optional<Time> next_instant() const;
  void instant(Time now);
  void live_instant(Time now);
  void release(Time now);
  [[nodiscard]] std::shared_ptr<const affinity::PromptChain> note_prefix(Record& record);
  void report_running();
  void report_memory(Time now);
  void start_granted(Time now);
  void note_starts();
  void look(Time now);
  void tell_progress(std::int64_t at_least);
  void finish(Record& record, Time now);
  [[nodiscard]] Record& vacant();
  [[nodiscard]] bool live() const { return setting_.stepping == Stepping::live; }
  [[nodiscard]] std::int64_t steps_made() const { return worker_steps_ / steps_divisor_; }
  void close_books(Time now);
  [[nodiscard]] RunResult result(Time end);

  const Setting& setting_;
  const RunHooks& hooks_;
  Fates& fates_;
  StalePolicy* const stale_;
  ManualClock clock_;
  dispatch::Dispatcher dispatcher_;
  Engines engines_;
  Releases releases_;
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<std::uint32_t> vacant_;
  std::vector<Record*> granted_;
  std::vector<Record*> starting_;  ///< in the step that begins
  std::vector<std::uint64_t> start_numbers_;
  std::vector<Start> starts_;
  ReleaseOrder order_;
  Backlog backlog_;
  std::uint64_t ended_ = 0;
  std::int64_t in_pool_ = 0;  ///< released and without a lease
  std::int64_t leased_ = 0;
  std::int64_t worker_steps_ = 0;
  const std::int64_t steps_divisor_;   ///< steps the engines report for one step of all workers
  const std::int64_t progress_every_;  ///< steps; about a million requests are looked at in so many
  std::int64_t told_steps_ = 0;
  // Of Stepping::live.
  Time tick_{};
  Time alarm_ = Time::max();
  Time next_report_{};            ///< of memory, for the redline
  std::int64_t seen_steps_ = -1;  ///< made when loads were last looked at
  Standing standing_;
  Window window_;
  OneCache one_cache_;
  OneCache endless_cache_;
  ReuseMeter reuse_;
  std::string error_;
};

void Record::granted(dispatch::Granted granted) {
  lease = std::move(granted.lease);
  run.granted(*this);
}

void Record::refused(dispatch::Refused what) { run.refused(*this, what.why); }

/// That the prefix cache of one worker holds.
std::size_t chain_blocks_of(const Setting& setting) {
  return static_cast<std::size_t>(setting.engine.kv_capacity.value() / chain_block_tokens(setting.lengths));
}

dispatch::DispatcherOptions dispatcher_options(const Setting& setting) {
  dispatch::DispatcherOptions options;
  options.pool_requests = 1U << 30U;
  options.pool_timeout = std::chrono::hours(24 * 365 * 50);
  options.overtake_cap = setting.overtake_cap;
  options.prompt_weight = setting.prompt_weight;
  options.redline = setting.redline;
  // Arrivals that keep the pool full would take the place of those refused without end: they wait instead.
  if (setting.arrivals.kind == Arrivals::Kind::saturated) options.redline.heavy.theta = 2;
  options.prefix_index.total_blocks = setting.workers * chain_blocks_of(setting);
  const std::size_t pool = setting.arrivals.kind == Arrivals::Kind::saturated ? setting.arrivals.pool : 0;
  options.plan_window = setting.plan_window > 0 ? setting.plan_window : std::max<std::size_t>(128, pool);
  return options;
}

Run::Run(const Setting& setting, std::unique_ptr<routing::Policy> policy, StalePolicy* stale, Fates& fates,
         std::uint64_t seed, const RunHooks& hooks)
    : setting_(setting),
      hooks_(hooks),
      fates_(fates),
      stale_(stale),
      dispatcher_(dispatcher_options(setting), std::move(policy), clock_, mix64(seed ^ 0x706f6c696379ULL)),
      engines_(setting),
      releases_(setting.lengths, setting.arrivals, seed),
      backlog_(setting),
      steps_divisor_(setting.sync ? 1 : static_cast<std::int64_t>(setting.workers)),
      progress_every_(std::clamp<std::int64_t>((1 << 20) / setting.slots_total(), 1, 4096)),
      window_(setting),
      one_cache_(setting.workers * chain_blocks_of(setting)),
      endless_cache_(0),
      reuse_(setting.workers) {
  constexpr std::int64_t unlimited = 1 << 30;
  for (std::size_t worker = 0; worker < setting.workers; ++worker) {
    dispatch::WorkerSpec spec;
    spec.name = fmt::format("w{}", worker);
    spec.models = {ModelId{0}};
    if (setting.sync) spec.group = "ranks";
    spec.max_in_flight = setting.binding == Binding::late ? setting.engine.slots : unlimited;
    const WorkerId id = dispatcher_.add_worker(std::move(spec));
    if (!live()) dispatcher_.set_step_time(id, setting.step_time(worker));
    if (setting.engine.prefix_cache) dispatcher_.set_prefix_cache(id, chain_blocks_of(setting));
    dispatcher_.set_state(id, dispatch::WorkerState::routable);
  }
  standing_.loads.resize(setting.workers);
  if (live()) dispatcher_.set_alarm([this](Time due) { alarm_ = due; });
}

Run::~Run() {
  dispatcher_.set_alarm({});
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
  record.open = true;
  record.started = false;
  return record;
}

// --- what the engine tells ---------------------------------------------------------------------------------

void Run::on_event(const engine::EngineEvent& event) {
  if (event.kind == engine::EngineEvent::Kind::preempted && window_.measuring()) window_.meter().preempted();
  if (event.kind != engine::EngineEvent::Kind::started) return;
  Record& record = *records_[event.id];
  if (record.started) return;  // again, after a preemption
  record.started = true;
  record.admitted = event.at;
  record.reuse.found = event.count.value();
  starting_.push_back(&record);
}

void Run::note_starts() {
  start_numbers_.clear();
  starts_.clear();
  for (const Record* record : starting_) {
    start_numbers_.push_back(record->release);
    starts_.push_back({record->lease.worker().value, record->item.request.prompt});
    if (!window_.measuring()) continue;
    window_.meter().admitted(record->admitted - record->item.ready, record->item.request.prompt,
                             order_.overtakes(record->release));
    reuse_.admitted(record->lease.worker().value, record->admitted - record->item.ready,
                    setting_.lengths.shared && record->item.request.shared == 0, record->reuse);
  }
  order_.start(start_numbers_);
  starting_.clear();
}

void Run::on_deliveries(Time at, std::span<const engine::Delivery> deliveries) {
  std::int64_t tokens = 0;
  for (const engine::Delivery& each : deliveries) {
    Record& record = *records_[each.id];
    record.lease.generated(Tokens(each.count));
    tokens += each.count;
    if (each.first && window_.measuring()) window_.meter().first_token(at - record.item.ready);
    if (each.finished) finish(record, at);
  }
  if (window_.measuring()) window_.meter().tokens(tokens);
}

void Run::finish(Record& record, Time now) {
  if (window_.measuring()) {
    window_.meter().finished(now - record.admitted, record.lease.output_tokens().value());
  }
  record.lease.end(fleet::Outcome::completed);
  --leased_;
  ++ended_;
  releases_.ended(record.item.place, now);
  record.open = false;
  vacant_.push_back(record.number);
}

void Run::on_step(const engine::StepReport& report) {
  ++worker_steps_;
  if (window_.measuring()) window_.meter().step(report.end - report.start);
}

// --- one instant -------------------------------------------------------------------------------------------

std::optional<Time> Run::next_instant() const {
  const auto engine = engines_.next_event();
  if (live()) {
    const Time next = std::min({tick_, alarm_, engine.value_or(Time::max()), releases_.next().value_or(Time::max())});
    return !engine && releases_.exhausted() && in_pool_ == 0 ? std::nullopt : std::optional(next);
  }
  if (engine && setting_.sync) return engine;  // what comes within a step is released at its end
  const auto release = releases_.next();
  if (!engine || (release && *release < *engine)) return release;
  return engine;
}

void Run::instant(Time now) {
  window_.account(now);
  clock_.set(now);
  dispatcher_.pause();
  engines_.advance(now, *this);  // steps end
  window_.consider(steps_made(), now, releases_.exhausted());
  tell_progress(progress_every_);
  if (window_.done()) return;
  report_memory(now);
  release(now);
  if (stale_ != nullptr) report_running();
  dispatcher_.resume(setting_.sync ? steps_made() + 1 : 0);  // the number of the step to come; 0 is nobody's
  start_granted(now);
  engines_.advance(now, *this);  // steps start
  note_starts();
  look(now);
}

void Run::live_instant(Time now) {
  constexpr Duration tick_every = std::chrono::milliseconds(20);
  clock_.set(now);
  engines_.advance(now, *this);  // steps end
  const bool boundary = steps_made() != seen_steps_;
  if (boundary) {
    window_.account(now);
    window_.consider(steps_made(), now, releases_.exhausted());
    tell_progress(progress_every_);
    if (window_.done()) return;
    seen_steps_ = steps_made();
  }
  engines_.advance(now, *this);  // and start, before what has ended is made up for
  note_starts();
  if (boundary) look(now);
  if (now >= alarm_) {
    alarm_ = Time::max();
    dispatcher_.plan_due();
  }
  report_memory(now);
  if (now >= tick_) {
    dispatcher_.tick();
    tick_ = now + tick_every;
  }
  do {
    start_granted(now);
    release(now);
  } while (!granted_.empty());
}

void Run::release(Time now) {
  while (error_.empty()) {
    // Early-bound requests wait at the engines.
    const std::size_t waiting =
        setting_.binding == Binding::late ? static_cast<std::size_t>(in_pool_) : order_.waiting();
    auto item = releases_.take(now, waiting);
    if (!item) break;
    Record& record = vacant();
    record.release = order_.release();
    record.item = *item;
    ++in_pool_;
    dispatch::Submission submission;
    submission.prompt_tokens = Tokens(item->request.prompt);
    submission.prompt_key = item->request.prompt_key;
    submission.affinity_key = item->request.affinity_key;
    if (setting_.engine.prefix_cache) submission.prefix = note_prefix(record);
    fates_.add(RequestId{record.release + 1}, item->request.output);  // the dispatcher counts alike, from 1
    // Nothing is owned: the record outlives the dispatcher's interest in it.
    const auto waiter = [&record] { return std::shared_ptr<dispatch::Waiter>(std::shared_ptr<void>(), &record); };
    auto decision = dispatcher_.submit(submission, waiter);
    if (const auto* turned_away = std::get_if<dispatch::Refused>(&decision)) refused(record, turned_away->why);
    if (auto* placed = std::get_if<dispatch::Granted>(&decision)) record.granted(std::move(*placed));
    if (auto ok = backlog_.check(now, waiting + 1, order_.released(), ended_); !ok) error_ = ok.error().message;
  }
}

/// What the router knows of the prompt's beginning; remembers what the engine is to know, and what one cache would
/// hold.
std::shared_ptr<const affinity::PromptChain> Run::note_prefix(Record& record) {
  const Request& request = record.item.request;
  Prefixes prefixes = prefixes_of(request, setting_.lengths);
  record.prefix = std::move(prefixes.at_engine);
  record.reuse = {.prompt = request.prompt};
  if (record.prefix) {
    record.reuse.one_cache = one_cache_.hit(*record.prefix, request.prompt, setting_.engine.block_size);
    record.reuse.endless_cache = endless_cache_.hit(*record.prefix, request.prompt, setting_.engine.block_size);
  }
  return std::move(prefixes.at_router);
}

/// The client goes away. (What was refused counts as entered in the order of releases: it waits no more.)
void Run::refused(Record& record, fleet::Refusal why) {
  if (why != fleet::Refusal::redline) {
    error_ = "the dispatcher refused a request";
    return;
  }
  if (window_.measuring()) window_.meter().refused();
  const std::uint64_t number[] = {record.release};
  order_.start(number);
  --in_pool_;
  ++ended_;
  releases_.ended(record.item.place, clock_.now());
  record.open = false;
  vacant_.push_back(record.number);
}

/// As a router's probes hear it.
void Run::report_memory(Time now) {
  constexpr Duration every = std::chrono::seconds(1);
  if (!setting_.redline.on || now < next_report_) return;
  next_report_ = now + every;
  for (std::size_t worker = 0; worker < setting_.workers; ++worker) {
    const engine::EngineBooks books = engines_.books(worker);
    dispatch::EngineReport report;
    report.asked = report.received = now;
    report.running = static_cast<double>(books.running);
    report.waiting = static_cast<double>(books.waiting);
    report.kv_used = Tokens(books.used_blocks * setting_.engine.block_size);
    report.kv_capacity = Tokens(setting_.engine.usable_blocks() * setting_.engine.block_size);
    dispatcher_.report(WorkerId{static_cast<std::uint32_t>(worker)}, report);
  }
}

void Run::report_running() {
  std::vector<std::vector<fleet::RunningView>> running(setting_.workers);
  for (const auto& record : records_) {
    const fleet::Lease& lease = record->lease;
    if (!lease.open()) continue;
    running[lease.worker().value].push_back(
        {lease.request(), lease.prompt_tokens(), lease.output_tokens().value(), record->item.request.prompt_key});
  }
  stale_->report(std::move(running));
}

void Run::start_granted(Time now) {
  for (Record* record : granted_) {
    --in_pool_;
    ++leased_;
    engine::EngineRequest request;
    request.id = record->number;
    request.prompt = Tokens(record->item.request.prompt);
    request.output = Tokens(record->item.request.output);
    request.key = record->release + 1;
    request.prefix = std::move(record->prefix);
    const Tokens room = setting_.engine.model_length();
    if (request.prompt + request.output > room) {  // the engine would cut the answer, and what is measured be another
      error_ = fmt::format(
          "--kv-tokens leaves room for {} tokens, and a request has {} of prompt and {} of output: allowed is at least "
          "their sum (--max-prompt and --max-output bound what is drawn)",
          room.value(), request.prompt.value(), request.output.value());
      break;
    }
    const auto outcome = engines_.submit(now, record->lease.worker().value, request);
    if (outcome == engine::SubmitOutcome::accepted) continue;
    error_ = fmt::format("a request of {} prompt and {} output tokens: {}", record->item.request.prompt,
                         record->item.request.output, engine::describe(outcome));
  }
  granted_.clear();
}

/// What stands from now to the next instant.
void Run::look(Time now) {
  standing_.running = 0;
  for (std::size_t worker = 0; worker < setting_.workers; ++worker) {
    const engine::EngineBooks books = engines_.books(worker);
    // A decode reads what is held and the token it computes.
    standing_.loads[worker] = books.kv_tokens.as_double() + static_cast<double>(books.running);
    standing_.running += books.running;
  }
  const std::int64_t open = std::max<std::int64_t>(0, setting_.slots_total() - leased_);
  standing_.held = std::min(open, in_pool_);
  window_.stand(standing_, steps_made(), now);
  if (hooks_.step) hooks_.step({steps_made() + 1, now, standing_, starts_, in_pool_});
}

void Run::tell_progress(std::int64_t at_least) {
  const std::int64_t steps = steps_made() - told_steps_;
  if (!hooks_.progress || steps < at_least) return;
  hooks_.progress(steps);
  told_steps_ += steps;
}

// --- the run -----------------------------------------------------------------------------------------------

Result<RunResult> Run::go() {
  Time now{};
  if (setting_.arrivals.kind == Arrivals::Kind::saturated) live() ? live_instant(now) : instant(now);
  while (!window_.done() && error_.empty()) {
    const auto next = next_instant();
    if (!next) break;
    now = std::max(now, *next);
    live() ? live_instant(now) : instant(now);
  }
  if (error_.empty() && !window_.measuring()) {
    error_ = fmt::format("the requests end within the warm-up, after {} steps: wanted are more of them, or --steps 0",
                         steps_made());
  }
  if (error_.empty()) close_books(now);
  if (!error_.empty()) return failure(error_);
  return result(now);
}

void Run::close_books(Time now) {
  if (const auto ok = engines_.check(); !ok) error_ = "the engine's books: " + ok.error().message;
  if (!dispatcher_.sound()) error_ = "the dispatcher's books are not sound";
  for (const auto& record : records_) {
    if (!record->open || record->started) continue;
    window_.meter().still_waiting(now - record->item.ready, record->item.request.prompt,
                                  order_.overtakes(record->release));
  }
}

RunResult Run::result(Time end) {
  tell_progress(1);
  RunResult result;
  result.metrics = window_.meter().result(end - window_.start());
  if (const ReuseCount& reuse = reuse_.total(); reuse.prompt > 0) {
    const auto prompt = static_cast<double>(reuse.prompt);
    result.metrics.hit_rate = static_cast<double>(reuse.found) / prompt;
    result.metrics.one_cache_hit_rate = static_cast<double>(reuse.one_cache) / prompt;
    result.metrics.endless_cache_hit_rate = static_cast<double>(reuse.endless_cache) / prompt;
  }
  if (setting_.engine.prefix_cache) result.workers = reuse_.by_worker();
  result.metrics.makespan_s = to_seconds(end.time_since_epoch());
  result.imbalance_se = window_.meter().imbalance_error();
  result.warm_up_steps = window_.first_step();
  result.measured_steps = steps_made() - result.warm_up_steps;
  result.window_s = to_seconds(end - window_.start());
  result.released = order_.released();
  result.left_waiting = order_.waiting();
  for (const dispatch::WorkerStatus& worker : dispatcher_.workers()) result.left_in_flight += worker.load.in_flight;
  result.trajectories = std::move(window_.trajectories());
  return result;
}

Timing timing_of(std::vector<float>& micros, const RunResult& result, Duration spent) {
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double p) -> double {
    if (micros.empty()) return 0;
    const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(micros.size())));
    return static_cast<double>(micros[std::max<std::size_t>(rank, 1) - 1]);
  };
  const auto steps = static_cast<double>(result.warm_up_steps + result.measured_steps);
  const double seconds = std::max(to_seconds(spent), 1e-9);
  return {at(0.5), at(0.99), static_cast<double>(micros.size()), steps / seconds};
}

}  // namespace

Result<RunResult> run(const Setting& setting, const routing::PolicySpec& spec, std::uint64_t seed,
                      const RunHooks& hooks) {
  const auto fates = std::make_shared<Fates>();
  auto policy = make_policy(spec, fates);
  if (!policy) return tl::unexpected(policy.error());
  std::vector<float> micros;
  const Time begun = hooks.cpu != nullptr ? hooks.cpu->now() : Time();
  if (hooks.cpu != nullptr) policy = std::make_unique<TimedPolicy>(std::move(*policy), *hooks.cpu, micros);
  StalePolicy* stale = nullptr;
  if (setting.stale_steps > 0) {
    auto made = std::make_unique<StalePolicy>(std::move(*policy), setting.stale_steps);
    stale = made.get();
    policy = std::move(made);
  }
  Run run(setting, std::move(*policy), stale, *fates, seed, hooks);
  auto result = run.go();
  if (!result) return result;
  result->seed = seed;
  if (hooks.cpu != nullptr) result->timing = timing_of(micros, *result, hooks.cpu->now() - begun);
  return result;
}

}  // namespace evenkeel::simulation
