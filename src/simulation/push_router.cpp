#include "simulation/push_router.hpp"

#include <algorithm>
#include <utility>

#include "redline/sample.hpp"

namespace evenkeel::simulation {

namespace {

using redline::Resource;

redline::Amounts memory(double gb) {
  redline::Amounts out;
  out[Resource::kv_memory] = gb;
  return out;
}

redline::RefusalRules refusal_rules(const PushOptions& options) {
  redline::RefusalRules rules;
  rules.round_trip = from_seconds(round_trip_s);
  rules.staleness = from_seconds(std::min(options.telemetry_s, 2.0));
  return rules;
}

/// A retry of an unbounded client comes after the pause of a first one, and no more than so often, or a test of it
/// would not end.
constexpr int most_unbounded = 50;

}  // namespace

PushRouter::PushRouter(FleetWorld& world, PushOptions options, Random random, RouterLinks links)
    : world_(world),
      options_(options),
      random_(random),
      links_(std::move(links)),
      trigger_(0, options.band_gb, options.published_trigger),
      refusals_(refusal_rules(options)) {
  for (std::size_t i = 0; i < world_.size(); ++i) {
    Seen seen{{},
              0,
              {},
              redline::WorkerPopulation(options_.population, {}, options_.population_on, options_.population_off),
              0};
    seen.snapshot.capacity = memory(world_.node(i).capacity_gb());
    seen_.push_back(std::move(seen));
    adopt(i, world_.report(i, world_.node(i).now_s()));
    // Reports are spread over the period.
    seen_[i].next_report_s = options_.telemetry_s * static_cast<double>(i + 1) / static_cast<double>(world_.size());
  }
  look_at_trigger(0);
}

void PushRouter::adopt(std::size_t node, const NodeReport& report) {
  Seen& seen = seen_[node];
  seen.snapshot.headroom = memory(report.headroom_gb);
  seen.snapshot.growth_per_s = report.growth_gb_per_s;
  seen.snapshot.stamp = time_at(report.stamp_s);
  seen.floor_gb = report.floor_gb;
  seen.silent = false;
  seen.blocked = report.blocked;
  seen.debits.seen(time_at(report.stamp_s));
  const double occupied = world_.node(node).capacity_gb() - report.headroom_gb;
  seen.population.look(report.immortal_share * occupied, occupied);
}

double PushRouter::left_at(std::size_t node, double t) const {
  const Seen& seen = seen_[node];
  const redline::Amounts debit = options_.debits ? seen.debits.total() : redline::Amounts{};
  return redline::corrected(seen.snapshot, debit, time_at(t))[Resource::kv_memory];
}

double PushRouter::footprint_gb(const HeavyTask& task) const {
  return options_.compare == Compare::projected ? task.footprint.at(world_.plan().scale_time_s / 2)
                                                : options_.footprint_gb;
}

void PushRouter::look_at_trigger(double t) {
  left_ = {};
  double pooled = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const double age = t - to_seconds(seen_[i].snapshot.stamp.time_since_epoch());
    if (age > options_.believed_s || seen_[i].silent) continue;
    if (world_.mode(i, t) != redline::LeaseMode::pooled) continue;
    left_.add(left_at(i, t), world_.rules().floors == Floors::two_part ? seen_[i].floor_gb : 0);
    pooled += 1;
  }
  const double reserve = world_.reserve_gb(pooled, world_.plan().scale_time_s, options_.level);
  trigger_.resize(reserve, options_.band_gb);
  if (options_.trigger && pooled > 0) trigger_.look(left_);
}

void PushRouter::note_waves(const std::vector<std::size_t>& sampled, std::size_t count, std::size_t winner) {
  if (!world_.in_wave(winner)) return;
  for (std::size_t k = 0; k < count; ++k) {
    if (links_.offers && !links_.offers(sampled[k])) continue;
    const MemoryNode& other = world_.node(sampled[k]);
    if (!world_.in_wave(sampled[k]) && other.headroom_gb() > world_.node(winner).headroom_gb()) {
      ++waves_that_won_;
      return;
    }
  }
}

std::optional<std::size_t> PushRouter::choose(const Waiting& waiting, double t) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const double age = t - to_seconds(seen_[i].snapshot.stamp.time_since_epoch());
    if (age > options_.believed_s || seen_[i].silent || seen_[i].blocked || !world_.serves(i, waiting.task.model))
      continue;
    if (std::find(waiting.refused_by.begin(), waiting.refused_by.end(), i) != waiting.refused_by.end()) continue;
    candidates.push_back(i);
  }
  if (candidates.empty()) return {};
  const std::size_t count = redline::draw_to_front(candidates, options_.sampled, random_);
  const double foot = footprint_gb(waiting.task);
  const auto population = waiting.task.immortal ? redline::Population::immortal : redline::Population::movable;
  std::size_t best = candidates[0];
  double best_score = -1e300;
  std::uint64_t equals = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (options_.probes && (!links_.offers || links_.offers(candidates[k]))) {
      accounts_.messages += 2;
      adopt(candidates[k], world_.report(candidates[k], t));
    }
    const Seen& seen = seen_[candidates[k]];
    const double left = left_at(candidates[k], t);
    const auto short_of = redline::dominant(seen.snapshot.capacity, memory(left), memory(foot));
    const double score = (options_.compare == Compare::bytes ? left : short_of.fraction) +
                         seen.population.bias(population, left - foot >= seen.floor_gb);
    if (score < best_score) continue;
    equals = score > best_score ? 1 : equals + 1;
    if (equals == 1 || random_.below(equals) == 0) best = candidates[k];
    best_score = score;
  }
  note_waves(candidates, count, best);
  if (options_.skips_short && left_at(best, t) - foot < seen_[best].floor_gb) return {};
  return best;
}

PlacementAnswer PushRouter::after_refusal(Waiting waiting, double t) {
  const bool retry =
      options_.retries == Retries::unbounded
          ? waiting.attempts < most_unbounded
          : options_.retries == Retries::budget &&
                refusals_.may_retry(std::max(1, waiting.attempts), options_.trigger && trigger_.frozen());
  if (!retry) return {PlacementAnswer::What::refused, waiting.task.id, 0, t - waiting.submitted_s + round_trip_s};
  const int made = options_.retries == Retries::unbounded ? 1 : std::max(1, waiting.attempts);
  waiting.due_s = t + to_seconds(refusals_.pause(made, random_));
  const std::uint64_t id = waiting.task.id;
  waiting_.push_back(std::move(waiting));
  return {PlacementAnswer::What::waits, id, 0, 0};
}

PlacementAnswer PushRouter::attempt(Waiting waiting, double t) {
  const auto node = choose(waiting, t);
  ++waiting.attempts;
  if (!node) {
    // Nobody to exclude: an unbounded client begins anew with all.
    if (options_.retries == Retries::unbounded) waiting.refused_by.clear();
    return after_refusal(std::move(waiting), t);
  }
  ++accounts_.attempts;
  if (waiting.attempts > 1) ++accounts_.retries;
  accounts_.messages += 2;
  if (links_.offers && !links_.offers(*node)) {
    seen_[*node].silent = true;
    waiting.refused_by.push_back(*node);
    return after_refusal(std::move(waiting), t);
  }
  const RequestId id(waiting.task.id);
  seen_[*node].debits.placed(id, memory(footprint_gb(waiting.task)));
  const FleetWorld::Answer answer = world_.offer(waiting.task, *node, t);
  if (answer.admitted) {
    seen_[*node].debits.acknowledged(id, time_at(t));
    if (options_.answers_inform) {
      seen_[*node].debits.forget(id);
      adopt(*node, answer.report);
    }
    return {PlacementAnswer::What::placed, waiting.task.id, *node, t - waiting.submitted_s + round_trip_s};
  }
  seen_[*node].debits.forget(id);
  adopt(*node, answer.report);
  waiting.refused_by.push_back(*node);
  return after_refusal(std::move(waiting), t);
}

PlacementAnswer PushRouter::submit(const HeavyTask& task, double t) {
  ++accounts_.submitted;
  refusals_.first_attempt();
  if (options_.trigger && trigger_.frozen()) {
    ++refused_frozen_;
    return {PlacementAnswer::What::refused, task.id, 0, 0};
  }
  return attempt({task, t, t, 0, {}}, t);
}

void PushRouter::turn(double t, std::vector<PlacementAnswer>& late) {
  if (options_.trigger && trigger_.frozen()) frozen_s_ += t - last_turn_s_;
  last_turn_s_ = t;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (t < seen_[i].next_report_s) continue;
    while (seen_[i].next_report_s <= t) seen_[i].next_report_s += options_.telemetry_s;
    if ((links_.reports && !links_.reports(i)) || random_.unit() < options_.telemetry_loss) continue;
    ++accounts_.background;
    if (i % options_.routers == options_.router) world_.renew(i, t);
    adopt(i, world_.report(i, t));
  }
  look_at_trigger(t);
  std::vector<Waiting> due;
  std::erase_if(waiting_, [&](Waiting& each) {
    if (each.due_s > t) return false;
    due.push_back(std::move(each));
    return true;
  });
  for (Waiting& each : due) {
    const PlacementAnswer answer = attempt(std::move(each), t);
    if (answer.what != PlacementAnswer::What::waits) late.push_back(answer);
  }
}

std::uint64_t PushRouter::population_flips() const {
  std::uint64_t flips = 0;
  for (const Seen& each : seen_) flips += each.population.trigger().flips();
  return flips;
}

}  // namespace evenkeel::simulation
