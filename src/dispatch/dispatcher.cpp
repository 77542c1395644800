#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dispatch/turn.hpp"

namespace evenkeel::dispatch {

using fleet::Refusal;

Dispatcher::Dispatcher(DispatcherOptions options, std::unique_ptr<routing::Policy> policy, const Clock& clock,
                       std::uint64_t seed, Tape* tape)
    : options_(options),
      clock_(clock),
      tape_(tape),
      books_(tape),
      policy_(std::move(policy)),
      random_(seed),
      roster_(books_),
      prefixes_(options.prefix_index, policy_->wants_hits()),
      wants_running_(policy_->wants_running()),
      keeps_running_(wants_running_ || options.redline.on),
      plans_jointly_(policy_->plans_jointly()) {
  if (options.redline.on) redline_.emplace(options.redline);
}

// --- the fleet -------------------------------------------------------------------------------------------

WorkerId Dispatcher::add_worker(WorkerSpec spec) {
  const Turn turn(*this, ask::AddWorker{spec});
  const Time now = turn.now;
  has_peers_ = has_peers_ || spec.peer;
  const WorkerId id = roster_.add(std::move(spec), now).id;
  if (redline_) redline_->replaced(id);
  note_routability(now);
  return id;
}

void Dispatcher::set_state(WorkerId id, WorkerState state) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::SetState{id, state});
    const Time now = turn.now;
    roster_.get(id).state = state;
    note_routability(now);
    step_models(nullptr, now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::set_models(WorkerId id, std::vector<ModelId> models) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::SetModels{id, models});
    const Time now = turn.now;
    roster_.get(id).spec.models = std::move(models);
    note_routability(now);
    step_models(nullptr, now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::set_max_in_flight(WorkerId id, std::int64_t limit) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::SetMaxInFlight{id, limit});
    roster_.get(id).spec.max_in_flight = limit;
    step_models(nullptr, turn.now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::set_share(WorkerId id, const WorkerShare& share) {
  const bool possible = share.slots >= 0 && share.max_in_flight >= 0 && std::isfinite(share.foreign_requests) &&
                        share.foreign_requests >= 0;
  if (!possible) return;
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::SetShare{id, share});
    WorkerRecord& record = roster_.get(id);
    roster_.note_change(record, turn.now);  // what was done so far was done beside the old load
    record.slots = share.slots;
    record.spec.max_in_flight = share.max_in_flight;
    record.foreign_requests = share.foreign_requests;
    record.reported = turn.now;
    step_models(nullptr, turn.now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::set_rate(WorkerId id, std::span<const fleet::RatePoint> points) {
  const fleet::RateCurve curve = fleet::RateCurve::of(points);
  const Turn turn(*this, ask::SetRate{id, curve.points()});
  WorkerRecord& record = roster_.get(id);
  record.given_rate = curve.known() ? std::optional(curve) : std::nullopt;
  record.given_rate_wrong = false;
  record.judge_given_rate();
}

std::vector<fleet::RatePoint> Dispatcher::rate_points(WorkerId id) const {
  const std::lock_guard lock(mutex_);
  const auto points = roster_.get(id).rate_curve().points();
  return {points.begin(), points.end()};
}

void Dispatcher::begin_rate(WorkerId id, std::span<const fleet::RatePoint> points) {
  // Points of one group are one from the start, so that what the tape has of them weighs as much when it is played.
  const fleet::RateCurve curve = fleet::RateCurve::of(fleet::RateCurve::of(points).points());
  const Turn turn(*this, ask::BeginRate{id, curve.points()});
  roster_.get(id).rate = curve;
}

void Dispatcher::set_step_time(WorkerId id, fleet::StepTime step_time) {
  const Turn turn(*this, ask::SetStepTime{id, step_time});
  roster_.get(id).step_time = step_time;
}

void Dispatcher::report(WorkerId id, const EngineReport& report) {
  const Turn turn(*this, ask::Report{id, report});
  roster_.report(roster_.get(id), report);
  if (redline_) redline_->heard(id, report.asked, report.kv_used, report.kv_capacity);
}

void Dispatcher::set_prefix_cache(WorkerId id, std::size_t blocks) {
  const Turn turn(*this, ask::SetPrefixCache{id, blocks});
  prefixes_.set_cache(id, wants_hits(roster_.get(id).spec.role) ? blocks : 0);
}

void Dispatcher::forget_prefixes(WorkerId id) {
  const Turn turn(*this, ask::ForgetPrefixes{id});
  prefixes_.forget(id);
}

bool Dispatcher::wants_hits(fleet::Role role) const {
  return role == fleet::Role::prefill ? prefill_policy_.wants_hits() : policy_->wants_hits();
}

void Dispatcher::recall(ModelId model, std::span<const forecast::EndedRequest> ended) {
  const Turn turn(*this, ask::Recall{model, ended});
  if (auto* const forecasts = policy_->forecasts()) forecasts->recall(model, ended);
}

// --- requests ----------------------------------------------------------------------------------------------

Dispatcher::ModelState& Dispatcher::model_state(ModelId model) {
  const auto found = models_.find(model);
  if (found != models_.end()) return found->second;
  // Long answers end in lumps. The drain is averaged over as long as a request may wait, so that a pause shorter than
  // that is no sign of a long wait.
  const Duration horizon = std::max<Duration>(options_.pool_timeout, std::chrono::seconds(10));
  const bool prefill = std::any_of(roster_.records().begin(), roster_.records().end(), [&](const auto& record) {
    return record->spec.role == fleet::Role::prefill && record->serves(model);
  });
  const bool bounded = !prefill && policy_->bounds_overtaking();
  const int cap = options_.overtake_cap.value_or(bounded ? 0 : default_overtake_cap);
  return models_.emplace(model, ModelState{WaitingPool(cap, bounded), DecayedRate(horizon), options_.mean_output})
      .first->second;
}

std::size_t Dispatcher::waiting_total() const {
  std::size_t total = 0;
  for (const auto& [id, model] : models_) total += model.pool.size();
  return total;
}

bool Dispatcher::any_routable(ModelId model, const Excluded& excluded, fleet::Reach reach) const {
  return std::any_of(roster_.records().begin(), roster_.records().end(), [&](const auto& record) {
    return record->takes_requests() && record->serves(model) && reach.covers(record->spec.peer) &&
           !excluded.contains(record->id);
  });
}

/// By the measured drain; before one was measured, by what the workers are known to do.
Duration Dispatcher::retry_after(const ModelState& model, Time now) const {
  const auto waiting = static_cast<double>(model.pool.size() + 1);
  const double drain = model.drain.per_second(now);
  double seconds = drain > 0 ? waiting / drain : 1.0;
  for (const auto& [id, state] : models_) {
    if (drain > 0 || &state != &model) continue;
    double tokens_per_s = 0;
    for (const auto& record : roster_.records()) {
      if (!record->takes_requests() || !record->serves(id)) continue;
      tokens_per_s += record->rate_curve().at(static_cast<double>(record->slots > 0 ? record->slots : record->limit()));
    }
    if (tokens_per_s > 0) seconds = waiting * model.mean_output / tokens_per_s;
  }
  return from_seconds(std::clamp(seconds, 0.05, 59.0));
}

std::optional<Refusal> Dispatcher::refusal_for(const Submission& submission, const ModelState& model, Time now) const {
  if (closed_) return Refusal::shutting_down;
  const bool reachable = any_routable(submission);
  if (!reachable && shed_away(submission)) return Refusal::pressure;
  if (!reachable && !submission.excluded.empty()) return Refusal::all_tried;
  if (redline_refuses_) return Refusal::redline;
  if (submission.at_once) return reachable ? Refusal::no_slot : Refusal::no_worker;
  if (submission.returned) return std::nullopt;  // there was room for it
  if (waiting_total() >= options_.pool_requests) return Refusal::pool_full;
  Bytes kept = submission.bytes;
  for (const auto& [id, other] : models_) kept += other.pool.bytes();
  if (kept > options_.pool_bytes) return Refusal::pool_bytes;
  if (!reachable) return std::nullopt;  // a drain that stopped with the workers foretells nothing
  const double drain = model.drain.per_second(now, 16);
  const bool hopeless = drain > 0 && static_cast<double>(model.pool.size()) / drain > to_seconds(options_.pool_timeout);
  if (hopeless) return Refusal::wait_too_long;
  return std::nullopt;
}

Granted Dispatcher::grant(const Submission& submission, RequestId id, WorkerRecord& worker, std::string_view reason,
                          std::uint32_t considered, Tokens hit, Time arrived, Time now) {
  Granted granted;
  if (has_peers_ || submission.from_peer) granted.receipt.route = route_of(submission, worker);
  granted.lease = fleet::Lease(worker.books, *this, clock_, id, worker.id, submission.model, submission.prompt_tokens);
  worker.begin(granted.lease, now);
  granted.lease.expect_hit(hit);
  prefixes_.placed(worker.id, submission, now);
  if (keeps_running_) worker.running_leases.add(granted.lease, submission.model, submission.prompt_key);
  roster_.note_change(worker, now);
  fleet::Receipt& receipt = granted.receipt;
  receipt.policy = worker.spec.role == fleet::Role::prefill ? prefill_policy_.name() : policy_->acting();
  receipt.reason = reason;
  receipt.candidates = considered;
  receipt.waited = now - arrived;
  receipt.signal_age = worker.reported == Time::min() ? Duration(-1) : now - worker.reported;
  receipt.attempt = submission.attempt;
  if (submission.prefix || submission.told_hits) receipt.expected_hit = hit;
  if (tape_ != nullptr) tape_->placed(id, worker.id, reason);
  return granted;
}

Decision Dispatcher::submit(const Submission& submission, const MakeWaiter& make_waiter) {
  Verdicts verdicts;
  Decision decision = decide(submission, make_waiter, verdicts);
  tell(verdicts);
  return decision;
}

Decision Dispatcher::decide(const Submission& submission, const MakeWaiter& make_waiter, Verdicts& verdicts) {
  const Turn turn(*this, ask::Submit{submission});
  const Time now = turn.now;
  ModelState& model = model_state(submission.model);
  const bool back = submission.returned && submission.returned->id.value < next_request_ &&
                    model.pool.find(submission.returned->id) == nullptr;
  const RequestId id = back ? submission.returned->id : RequestId{next_request_++};
  const Time arrived = back ? std::min(now, submission.returned->arrived) : now;
  prefixes_.see(submission);
  // What does not wait cannot be looked at later, together with others.
  if (!closed_ && !paused_ && (submission.at_once || !put_off(submission.model, now, verdicts))) {
    if (auto granted = place_now(submission, model, id, arrived, now)) return std::move(*granted);
  }
  redline_refuses_ = redline_ && turned_away_by_redline(submission, model, now);
  if (const auto refusal = refusal_for(submission, model, now)) {
    if (tape_ != nullptr) tape_->refused(id, *refusal);
    return Refused{*refusal, retry_after(model, now)};
  }
  if (redline_ && redline_holds_) ++held_back_;
  Waiting waiting;
  waiting.id = id;
  waiting.submission = submission;
  if (!back) waiting.submission.returned.reset();
  waiting.waiter = make_waiter();
  waiting.arrived = arrived;
  waiting.deadline = arrived + options_.pool_timeout;
  waiting.next_check = waiting.deadline;
  if (!any_routable(submission)) {
    waiting.no_worker_since = now;
    waiting.next_check = std::min(waiting.deadline, now + options_.unroutable_wait);
  }
  const double cost = model.mean_output + options_.prompt_weight * submission.prompt_tokens.as_double();
  const bool alone = model.pool.empty();  // then the policy was just asked
  prefixes_.look_up(submission, waiting.held);
  model.pool.add(std::move(waiting), cost);
  if (!alone && !paused_ && plan_at_ == Time::max()) step(submission.model, model, now, verdicts);
  return Queued{id};
}

fleet::Lease Dispatcher::lease_at(WorkerId worker, const Submission& submission) {
  const Turn turn(*this, ask::LeaseAt{worker, submission});
  WorkerRecord& record = roster_.get(worker);
  fleet::Lease lease(record.books, *this, clock_, RequestId{next_request_++}, worker, submission.model,
                     submission.prompt_tokens);
  record.begin(lease, turn.now);
  prefixes_.placed(worker, submission, turn.now);
  if (keeps_running_) record.running_leases.add(lease, submission.model, submission.prompt_key);
  if (redline_) redline_->admitted(worker, lease.request(), demand_of(submission));
  roster_.note_change(record, turn.now);
  return lease;
}

bool Dispatcher::admissible(const Submission& submission) const {
  const std::lock_guard lock(mutex_);
  return any_routable(submission);
}

bool Dispatcher::cancel(RequestId id) {
  const Turn turn(*this, ask::Cancel{id});
  for (auto& [model_id, model] : models_) {
    if (model.pool.remove(id) != nullptr) return true;
  }
  return false;
}

void Dispatcher::lease_ended(const fleet::LeaseSummary& told) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::Ended{told});
    fleet::LeaseSummary summary = told;
    if (tape_ != nullptr) tape_->ended(summary);
    const Time now = turn.now;
    WorkerRecord& worker = roster_.get(summary.worker);
    worker.ended(summary);
    roster_.note_change(worker, now);
    ModelState& model = model_state(summary.model);
    model.drain.count(now);
    if (summary.outcome == fleet::Outcome::completed && summary.had_output) {
      // The plain mean of the first 64; of what it was taken to be before, nothing is left after the first.
      const double weight = 1.0 / static_cast<double>(std::min<std::int64_t>(64, ++model.ended));
      model.mean_output += weight * (summary.output_tokens.as_double() - model.mean_output);
    }
    if (keeps_running_) worker.running_leases.remove(summary.place);
    if (redline_) redline_->ended(summary);
    // A prefill ends with its first token, which says nothing of how long answers are.
    if (worker.spec.role != fleet::Role::prefill) policy_->ended(summary, now);
    if (!put_off(worker, now, verdicts))
      step_models(&worker, now, verdicts);  // the freed slot may serve any of its models
  }
  tell(verdicts);
}

void Dispatcher::set_alarm(Alarm ring) {
  const Turn turn(*this, ask::SetAlarm{static_cast<bool>(ring)});
  ring_ = std::move(ring);
}

void Dispatcher::plan_due() {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::PlanDue{});
    const Time now = turn.now;
    if (now < plan_at_) return;
    plan_at_ = Time::max();
    step_models(nullptr, now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::pause() {
  const Turn turn(*this, ask::Pause{});
  paused_ = true;
}

void Dispatcher::resume(std::int64_t step) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::Resume{step});
    paused_ = false;
    step_ = step;
    step_models(nullptr, turn.now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::tick() {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::Tick{});
    const Time now = turn.now;
    if (history_noted_ == Time::min() || now - history_noted_ >= std::chrono::milliseconds(100)) {
      roster_.note_history(now, options_.signal_lifetime);
      history_noted_ = now;
      if (redline_) look_at_redline(now);
    }
    roster_.note_steps(now);
    prefixes_.expire(now);
    for (auto& [id, model] : models_) check_due(model, now, verdicts);
    if (now >= plan_at_) plan_at_ = Time::max();
    if (plan_at_ == Time::max()) step_models(nullptr, now, verdicts);
  }
  tell(verdicts);
}

void Dispatcher::close() {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::Close{});
    closed_ = true;
    for (auto& [id, model] : models_) {
      std::vector<RequestId> ids;
      model.pool.in_order([&](const Waiting& waiting) {
        ids.push_back(waiting.id);
        return true;
      });
      for (const RequestId request : ids) {
        auto waiting = model.pool.remove(request);
        verdicts.all.push_back({std::move(waiting->waiter), Refused{Refusal::shutting_down, std::chrono::seconds(1)}});
      }
    }
  }
  tell(verdicts);
}

void Dispatcher::note_routability(Time now) {
  for (auto& [id, model] : models_) {
    model.pool.in_order([&](Waiting& waiting) {
      const bool lost = !any_routable(waiting.submission);
      if (lost == (waiting.no_worker_since != Time::max())) return true;
      waiting.no_worker_since = lost ? now : Time::max();
      const Time patience = lost ? now + options_.unroutable_wait : Time::max();
      model.pool.recheck(waiting.id, std::min(waiting.deadline, patience));
      return true;
    });
  }
}

void Dispatcher::check_due(ModelState& model, Time now, Verdicts& verdicts) {
  for (const RequestId id : model.pool.due(now)) {
    const Waiting& waiting = *model.pool.find(id);
    Refusal why = Refusal::deadline;
    if (waiting.no_worker_since != Time::max()) {
      const Submission& what = waiting.submission;
      why = any_routable(what.model, {}, reach_of(what)) ? Refusal::all_tried : Refusal::no_worker;
      if (shed_away(what)) why = Refusal::pressure;
    }
    const Duration again = retry_after(model, now);
    if (tape_ != nullptr) tape_->refused(id, why);
    verdicts.all.push_back({model.pool.remove(id)->waiter, Refused{why, again}});
  }
}

void Dispatcher::tell(Verdicts& verdicts) {
  if (verdicts.ring != Time::max()) ring_(verdicts.ring);
  for (Verdict& verdict : verdicts.all) {
    if (auto* granted = std::get_if<Granted>(&verdict.what)) {
      verdict.waiter->granted(std::move(*granted));
    } else {
      verdict.waiter->refused(std::get<Refused>(verdict.what));
    }
  }
}

}  // namespace evenkeel::dispatch
