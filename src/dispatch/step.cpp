// The dispatcher's step: show the policy what waits and what is free, check its wishes, make them leases.
#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {

namespace {

/// Of so many at the head of a plan the hits are looked up anew, of the others they are those of when they came or last
/// stood at the head: they are placed behind them, and a look-up for each of a thousand would hold the lock for long.
constexpr std::size_t fresh_hits = 16;

/// So many that the redline holds back are looked at in one plan; those behind them wait for the next.
constexpr std::size_t judged_at_once = 16;

/// What a policy sees of a request, but for its candidates and its place in the pool.
fleet::WaitingView view_of(const Submission& what, RequestId id, fleet::Reach reach, Time arrived) {
  fleet::WaitingView view;
  view.id = id;
  view.model = what.model;
  view.prompt_tokens = what.prompt_tokens;
  view.affinity_key = what.affinity_key;
  view.arrived = arrived;
  view.prompt_key = what.prompt_key;
  view.priority = what.priority;
  view.reach = reach;
  return view;
}

}  // namespace

/// All but what is read from its books past the tape, and what is the model's.
void Dispatcher::view_worker(const WorkerRecord& record, Time now, fleet::WorkerView& view) const {
  view.id = record.id;
  view.name = record.spec.name;
  view.max_in_flight = record.limit();
  view.slots = record.slots;
  view.foreign_requests = record.foreign_requests;
  view.foreign_tokens = record.foreign_tokens;
  view.kv_capacity = record.kv_capacity;
  view.rate = &record.rate_curve();
  view.signal_age = record.reported == Time::min() ? Duration(-1) : now - record.reported;
  view.group = record.group;
  view.role = record.spec.role;
  view.peer = record.spec.peer;
  view.step_time = record.step_time;
  if (const StepClock* steps = roster_.steps_of(record); steps != nullptr && !view.step_time.known()) {
    view.step_time = steps->step_time();
  }
}

// Once for every worker at every request: what it calls is put into it.
[[gnu::flatten]] bool Dispatcher::view_fleet(ModelId id, const ModelState& model, Time now, fleet::Reach reach) {
  workers_view_.clear();
  bool any_free = false;
  for (const auto& record : roster_.records()) {
    if (!record->takes_requests() || !record->serves(id) || !reach.covers(record->spec.peer)) continue;
    fleet::WorkerView& view = workers_view_.emplace_back();
    view_worker(*record, now, view);
    view.load = books_.load(record->books);
    if (const std::int64_t silent = view.load.in_flight - view.load.decoding; silent > 0) {
      const auto share = static_cast<double>(silent) / static_cast<double>(view.load.in_flight);
      view.silent_s = share * std::max(0.0, to_seconds(record->ages(now)));
    }
    view.mean_output = model.mean_output;
    any_free = any_free || view.free_slots() > 0;
  }
  if (redline_) show_redline(id, model, now);
  return any_free;
}

/// Who places requests on the workers that are viewed.
routing::Policy& Dispatcher::planner() {
  return workers_view_.front().role == fleet::Role::prefill ? prefill_policy_ : *policy_;
}

/// Of those viewed, if all step together.
std::int64_t Dispatcher::steps_made() const {
  if (step_ > 0 || !roster_.has_groups()) return step_;
  const std::uint32_t group = workers_view_.front().group;
  const bool together = std::all_of(workers_view_.begin(), workers_view_.end(),
                                    [&](const fleet::WorkerView& worker) { return worker.group == group; });
  const StepClock* steps = together ? roster_.steps_of(roster_.get(workers_view_.front().id)) : nullptr;
  return steps == nullptr ? 0 : static_cast<std::int64_t>(steps->steps());
}

void Dispatcher::view_running() {
  running_view_.clear();
  for (const fleet::WorkerView& worker : workers_view_)
    roster_.get(worker.id).running_leases.append_to(running_view_, books_);
  std::size_t begin = 0;
  for (fleet::WorkerView& worker : workers_view_) {
    const std::size_t count = roster_.get(worker.id).running_leases.size();
    worker.running = std::span(running_view_).subspan(begin, count);
    begin += count;
  }
}

std::pair<std::size_t, std::size_t> Dispatcher::view_candidates(const Excluded& excluded, fleet::Reach reach,
                                                                const redline::Demand* demand, Time now) {
  const std::size_t begin = candidates_.size();
  for (std::uint32_t index = 0; index < workers_view_.size(); ++index) {
    const fleet::WorkerView& worker = workers_view_[index];
    if (worker.free_slots() <= 0 || !reach.covers(worker.peer) || excluded.contains(worker.id)) continue;
    if (demand == nullptr || !held_by_redline(worker, *demand, now)) candidates_.push_back(index);
  }
  return {begin, candidates_.size() - begin};
}

/// Whether someone waits although a slot is free that it may use. Then a newcomer takes its place among those that
/// wait, and all are looked at together; else what is free is of no use to them, and it passes nobody by taking it.
bool Dispatcher::someone_is_held(ModelState& model, Time now) const {
  bool held = false;
  std::size_t looked_at = 0;
  model.pool.in_order([&](const Waiting& waiting) {
    const bool judged = redline_ && !waiting.capped;  // nobody passes those that were passed too often
    const auto demand = judged ? std::optional(demand_of(waiting.submission)) : std::nullopt;
    const fleet::Reach reach = reach_of(waiting.submission);
    held = std::any_of(workers_view_.begin(), workers_view_.end(), [&](const fleet::WorkerView& worker) {
      return worker.free_slots() > 0 && reach.covers(worker.peer) && !waiting.submission.excluded.contains(worker.id) &&
             !(judged && held_by_redline(worker, *demand, now));
    });
    return !held && (!judged || ++looked_at < judged_at_once);
  });
  return held;
}

std::optional<Granted> Dispatcher::place_now(const Submission& submission, ModelState& model, RequestId id,
                                             Time arrived, Time now) {
  const fleet::Reach reach = reach_of(submission);
  if (!view_fleet(submission.model, model, now, reach)) return std::nullopt;
  candidates_.clear();
  const auto demand = redline_ ? std::optional(demand_of(submission)) : std::nullopt;
  view_candidates(submission.excluded, reach, demand ? &*demand : nullptr, now);
  if (candidates_.empty()) return std::nullopt;
  // One that does not wait cannot be looked at together with those that a policy holds by choice.
  if (!submission.at_once && someone_is_held(model, now)) return std::nullopt;
  if (wants_running_) view_running();
  fleet::WaitingView request = view_of(submission, id, reach, arrived);
  request.candidates = candidates_;
  request.found_waiting = static_cast<std::uint32_t>(model.pool.size());
  prefixes_.begin_view(workers_view_);
  request.hits = prefixes_.view_now(submission);
  placements_.clear();
  planner().plan(std::span(&request, 1), {workers_view_, options_.prompt_weight, steps_made(), submission.model}, now,
                 random_, placements_);
  if (placements_.empty()) return std::nullopt;
  const fleet::Placement& wish = placements_.front();
  const bool sound =
      wish.request == 0 && std::find(candidates_.begin(), candidates_.end(), wish.worker) != candidates_.end();
  if (!sound) return std::nullopt;
  Granted granted = grant(submission, id, roster_.get(workers_view_[wish.worker].id), wish.reason, wish.considered,
                          request.hit(wish.worker), arrived, now);
  if (demand) book_with_redline(*demand, workers_view_[wish.worker], granted, now);
  return granted;
}

/// What the next plan looks at; false: nobody who could enter.
bool Dispatcher::view_waiting(ModelState& model, Time now) {
  waiting_view_.clear();
  candidates_.clear();
  candidate_ranges_.clear();
  const fleet::Reach usual{!sheds_, true};
  const auto unexcluded = view_candidates(Excluded{}, usual, nullptr, now);
  bool capped_seen = false;
  std::size_t held_back = 0;
  prefixes_.begin_view(workers_view_);
  model.pool.in_order([&](Waiting& waiting) {
    if (capped_seen && !waiting.capped) return false;  // nobody passes those that were passed too often
    const Submission& what = waiting.submission;
    const fleet::Reach reach = reach_of(what);
    const bool alike = what.excluded.empty() && !redline_ && reach == usual;
    const auto demand = redline_ ? std::optional(demand_of(what)) : std::nullopt;
    const auto candidates =
        alike ? unexcluded : view_candidates(what.excluded, reach, demand ? &*demand : nullptr, now);
    if (candidates.second == 0) {
      if (!redline_ || unexcluded.second == 0) return true;
      // It waits for room rather than for a slot. If it was passed too often, all others wait with it.
      return !waiting.capped && ++held_back < judged_at_once;
    }
    capped_seen = capped_seen || waiting.capped;
    fleet::WaitingView& view = waiting_view_.emplace_back(view_of(what, waiting.id, reach, waiting.arrived));
    view.found_waiting = static_cast<std::uint32_t>(waiting.found_waiting);
    view.overtaken = static_cast<std::uint32_t>(waiting.passed);
    candidate_ranges_.push_back(candidates);
    prefixes_.add_view(what, waiting.held, waiting_view_.size() <= fresh_hits);
    return waiting_view_.size() < options_.plan_window;
  });
  for (std::size_t i = 0; i < waiting_view_.size(); ++i) {
    waiting_view_[i].candidates =
        std::span(candidates_).subspan(candidate_ranges_[i].first, candidate_ranges_[i].second);
    waiting_view_[i].hits = prefixes_.view(i);
  }
  return !waiting_view_.empty();
}

void Dispatcher::step(ModelId id, ModelState& model, Time now, Verdicts& verdicts) {
  // A plan sees a window of the pool; while it places all that it saw, the next window follows.
  while (!model.pool.empty() && view_fleet(id, model, now)) {
    if (!view_waiting(model, now)) return;
    if (wants_running_) view_running();
    placements_.clear();
    planner().plan(waiting_view_, {workers_view_, options_.prompt_weight, steps_made(), id}, now, random_, placements_);
    std::size_t placed = 0;
    const std::uint64_t capped_before = model.pool.ever_capped();
    for (const fleet::Placement& wish : placements_) {
      if (wish.request >= waiting_view_.size()) continue;
      const fleet::WaitingView& request = waiting_view_[wish.request];
      const auto& allowed = request.candidates;
      if (std::find(allowed.begin(), allowed.end(), wish.worker) == allowed.end()) continue;
      WorkerRecord& worker = roster_.get(workers_view_[wish.worker].id);
      if (books_.load(worker.books).in_flight >= worker.limit()) continue;
      const Waiting* const waiting = model.pool.find(request.id);
      if (waiting == nullptr) continue;  // wished for twice
      const auto demand = redline_ ? std::optional(demand_of(waiting->submission)) : std::nullopt;
      // What this plan has placed there before may have taken the room.
      if (demand && held_by_redline(workers_view_[wish.worker], *demand, now)) continue;
      auto entered = model.pool.enter(request.id, [&](const Waiting& other) {
        return !other.submission.excluded.contains(worker.id) && reach_of(other.submission).covers(worker.spec.peer);
      });
      Granted granted = grant(entered->submission, entered->id, worker, wish.reason, wish.considered,
                              request.hit(wish.worker), entered->arrived, now);
      if (demand) book_with_redline(*demand, workers_view_[wish.worker], granted, now);
      verdicts.all.push_back({std::move(entered->waiter), std::move(granted)});
      ++placed;
      // Somebody may be passed no more: the rest of this plan was made without knowing it.
      if (model.pool.ever_capped() != capped_before) break;
    }
    if (placed < waiting_view_.size() && model.pool.ever_capped() == capped_before) return;
    if (over_budget(now, verdicts)) return;
  }
}

/// Whether this turn has held the lock for as long as it may: what is left to plan is put off to one of its own.
bool Dispatcher::over_budget(Time began, Verdicts& verdicts) {
  if (!ring_) return false;
  const bool over = books_.value(clock_.now() - began > options_.turn_budget ? 1 : 0) != 0;
  if (over) plan_at_ = verdicts.ring = began;
  return over;
}

bool Dispatcher::put_off(const WorkerRecord& worker, Time now, Verdicts& verdicts) {
  if (!plans_jointly_ || !ring_ || paused_) return false;
  const StepClock* steps = roster_.steps_of(worker);
  if (steps == nullptr || steps->step_s() == 0 || books_.load(worker.books).in_flight == 0) return false;
  if (plan_at_ != Time::max()) return true;
  plan_at_ = now + std::min(options_.gather_limit, from_seconds(options_.gather_share * steps->step_s()));
  verdicts.ring = plan_at_;
  return true;
}

bool Dispatcher::put_off(ModelId model, Time now, Verdicts& verdicts) {
  if (!plans_jointly_ || !ring_ || !roster_.has_groups()) return false;
  const auto& records = roster_.records();
  return std::any_of(records.begin(), records.end(), [&](const auto& record) {
    return record->takes_requests() && record->serves(model) && put_off(*record, now, verdicts);
  });
}

void Dispatcher::step_models(const WorkerRecord* of, Time now, Verdicts& verdicts) {
  if (paused_) return;
  heads_.clear();
  for (const auto& [id, model] : models_) {
    if (model.pool.empty() || (of != nullptr && !of->serves(id))) continue;
    const Waiting& head = model.pool.head();
    heads_.emplace_back(head.submission.priority, head.id, id);
  }
  std::sort(heads_.begin(), heads_.end());
  for (const auto& [priority, head, id] : heads_) {
    step(id, models_.at(id), now, verdicts);
    if (over_budget(now, verdicts)) return;
  }
}

}  // namespace evenkeel::dispatch
