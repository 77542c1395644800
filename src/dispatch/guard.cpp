// The redline's part of the dispatcher's step: what it is shown, what it is asked, what is booked with it.
#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {

redline::Demand Dispatcher::demand_of(const Submission& submission) const {
  redline::RequestSigns signs;
  signs.prompt_tokens = submission.prompt_tokens.value();
  signs.bound = submission.output_bound.value();
  signs.client = submission.client.value;
  signs.told = submission.heavy;
  return redline_->demand(submission.model, signs, submission.sequences);
}

void Dispatcher::show_redline(ModelId id, const ModelState& model, Time now) {
  for (const fleet::WorkerView& worker : workers_view_) {
    if (!redline_->stale(worker.id, now)) continue;
    resident_view_.clear();
    roster_.get(worker.id).running_leases.append_to(resident_view_, books_);
    redline_->refresh(worker.id, resident_view_, now);
  }
  redline_->look(id, workers_view_, now, model.pool.empty());
}

void Dispatcher::look_at_redline(Time now) {
  for (const auto& [id, model] : models_) view_fleet(id, model, now);
}

bool Dispatcher::held_by_redline(const fleet::WorkerView& worker, const redline::Demand& demand, Time now) const {
  return !redline_->has_room(worker, now) || !redline_->judge(worker, demand, now).admissible;
}

bool Dispatcher::turned_away_by_redline(const Submission& submission, const ModelState& model, Time now) {
  const bool slot = view_fleet(submission.model, model, now);
  const redline::Demand demand = demand_of(submission);
  const fleet::Reach reach = reach_of(submission);
  bool room = false;
  for (const fleet::WorkerView& worker : workers_view_) {
    if (worker.free_slots() <= 0 || !reach.covers(worker.peer) || submission.excluded.contains(worker.id)) continue;
    room = room || !held_by_redline(worker, demand, now);
  }
  redline_holds_ = slot && !room;
  return !room && !workers_view_.empty() && redline_->refuses(demand);
}

void Dispatcher::book_with_redline(const redline::Demand& demand, fleet::WorkerView& worker, Granted& granted,
                                   Time now) {
  const redline::Verdict verdict = redline_->judge(worker, demand, now);
  granted.receipt.scarcest = redline::to_string(verdict.left.resource);
  granted.receipt.left = verdict.left.fraction;
  redline_->admitted(worker.id, granted.lease.request(), demand);
  worker.load.in_flight += 1;
  worker.load.prompt_tokens += granted.lease.prompt_tokens();
  worker.load.queued_prompt += granted.lease.prompt_tokens();
}

std::optional<RedlineStatus> Dispatcher::redline() const {
  const std::lock_guard lock(mutex_);
  if (!redline_) return std::nullopt;
  return RedlineStatus{redline_->fleet(), redline_->heavy_counts(), held_back_};
}

bool Dispatcher::frozen(ModelId model) const {
  if (!options_.redline.on) return false;
  const std::lock_guard lock(mutex_);
  return redline_->frozen(model);
}

}  // namespace evenkeel::dispatch
