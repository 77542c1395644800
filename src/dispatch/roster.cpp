#include "dispatch/roster.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::dispatch {

namespace {
constexpr Duration observe_every = std::chrono::milliseconds(100);
constexpr Duration history_span = std::chrono::seconds(20);
constexpr double lump_seconds = 8;  // busy ones, over which what comes in lumps is looked at while some is always open
constexpr double mostly = 0.9;      // share of requests' time whose tokens come as they are made
constexpr double wrong_by = 2;      // factor between what a peer says of its rate and what is seen of it
}  // namespace

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::routable: return "routable";
    case WorkerState::trial: return "trial";
    case WorkerState::unroutable: return "unroutable";
    case WorkerState::draining: return "draining";
    case WorkerState::removed: return "removed";
  }
  return "unknown";
}

bool WorkerRecord::serves(ModelId model) const {
  return std::find(spec.models.begin(), spec.models.end(), model) != spec.models.end();
}

void WorkerRecord::judge_given_rate() {
  if (!given_rate || !spec.peer) return;
  if (!seen_rate || seen_rate->rate <= 0) return;
  const double said = given_rate->at(seen_rate->level);
  given_rate_wrong = said > wrong_by * seen_rate->rate || seen_rate->rate > wrong_by * said;
}

std::uint32_t Roster::group_named(const std::string& name) {
  if (name.empty()) return 0;
  const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) { return group.name == name; });
  if (at != groups_.end()) return static_cast<std::uint32_t>(at - groups_.begin()) + 1;
  groups_.push_back({name, {}, {}});
  return static_cast<std::uint32_t>(groups_.size());
}

WorkerRecord& Roster::add(WorkerSpec spec, Time now) {
  const std::uint32_t group = group_named(spec.group);
  for (auto& record : records_) {
    if (record->spec.name != spec.name) continue;
    record->spec = std::move(spec);
    record->group = group;
    record->state = WorkerState::unroutable;
    record->foreign_requests = 0;  // of an engine that may have been replaced
    record->slots = 0;
    record->given_rate.reset();
    record->given_rate_wrong = false;
    record->seen_rate.reset();
    record->foreign_tokens = record->kv_capacity = Tokens();
    record->reported = Time::min();
    return *record;
  }
  records_.push_back(std::make_unique<WorkerRecord>());
  WorkerRecord& record = *records_.back();
  record.id = WorkerId{static_cast<std::uint32_t>(records_.size() - 1)};
  record.spec = std::move(spec);
  record.group = group;
  record.changed = record.observed = now;
  return record;
}

void Roster::note_change(WorkerRecord& worker, Time now) {
  const double seconds = to_seconds(now - worker.changed);
  if (worker.running > 0) {
    worker.running_seconds += seconds * static_cast<double>(worker.running);
    worker.decoding_seconds += seconds * static_cast<double>(worker.decoding);
    worker.busy_seconds += seconds;
  }
  worker.changed = now;
  const fleet::Load load = books_.load(worker.books);
  worker.running = load.in_flight;
  worker.decoding = load.decoding;
  const bool streams = worker.decoding_seconds >= mostly * worker.running_seconds;
  // Whole answers come as lumps: a moment that holds one, and not the time it was made in, would show any rate at all.
  const bool accounted = streams || load.in_flight == 0 || worker.busy_seconds >= lump_seconds;
  if (now - worker.observed < observe_every || !accounted) return;
  const std::int64_t generated = books_.value(worker.books.generated_ever());
  if (worker.busy_seconds > 0) {
    const double ours = worker.running_seconds / worker.busy_seconds;
    const double all = ours + worker.foreign_requests;
    const auto made = static_cast<double>(generated - worker.generated_before);
    // The engine shares its rate; what it did for others is taken to be in proportion.
    worker.rate.observe(all, std::max(0.0, made) * all / ours, from_seconds(worker.busy_seconds), streams);
    if (streams) {
      worker.seen_rate = worker.rate.latest();
      worker.judge_given_rate();
    }
  }
  worker.generated_before = generated;
  worker.running_seconds = worker.busy_seconds = worker.decoding_seconds = 0;
  worker.observed = now;
}

void Roster::note_steps(Time now) {
  if (groups_.empty()) return;
  for (SyncGroup& group : groups_) group.load = {};
  for (const auto& record : records_) {
    if (record->group == 0) continue;
    GroupLoad& sum = groups_[record->group - 1].load;
    const fleet::Load load = books_.load(record->books);
    sum.generated += static_cast<double>(books_.value(record->books.generated_ever()));
    sum.decoding += static_cast<double>(load.decoding);
    sum.largest = std::max(sum.largest, (load.kv_tokens() + record->foreign_tokens).as_double());
  }
  for (SyncGroup& group : groups_) group.steps.note(now, group.load);
}

void Roster::note_history(Time now, Duration lifetime) {
  for (auto& record : records_) {
    auto& history = record->ended_history;
    history.emplace_back(now, books_.count(record->books.leases_ended()));
    while (history.size() > 1 && now - history.front().first > history_span) history.pop_front();
    note_change(*record, now);
    const bool shared = record->slots > 0;  // how old its load may get is for whoever shares it to say
    if (!shared && record->foreign_requests > 0 && now - record->reported > lifetime) {
      record->foreign_requests = 0;
      record->foreign_tokens = Tokens();
    }
  }
}

void Roster::report(WorkerRecord& worker, const EngineReport& report) {
  const auto possible = [](double requests) { return std::isfinite(requests) && requests >= 0; };
  if (!possible(report.running) || !possible(report.waiting)) return;
  if (report.kv_used < Tokens() || report.kv_capacity < Tokens()) return;
  if (report.asked > report.received || report.received < worker.reported) return;
  const Time from = report.asked - slack;
  std::uint64_t ended_before = 0;  // nothing known that early: every lease may have been counted
  for (const auto& [when, ended] : worker.ended_history) {
    if (when > from) break;
    ended_before = ended;
  }
  const auto ours = static_cast<double>(books_.count(worker.books.leases_begun()) - ended_before);
  const double reported = report.running + report.waiting;
  worker.foreign_requests = std::max(0.0, reported - ours);
  const double share = reported > 0 ? worker.foreign_requests / reported : 0;
  worker.foreign_tokens = Tokens(static_cast<std::int64_t>(std::llround(share * report.kv_used.as_double())));
  worker.kv_capacity = report.kv_capacity;
  worker.reported = report.received;
}

}  // namespace evenkeel::dispatch
