#include "redline/fleet_redline.hpp"

#include <algorithm>
#include <limits>

#include "base/random.hpp"
#include "maths/normal.hpp"

namespace evenkeel::redline {

namespace {

/// Engines give memory in blocks; a request's last one is half empty, and one is taken before it is written.
constexpr double block_tokens = 16;
/// Ages between two looks are a few tokens behind, which errs to the safe side: what grows was counted to grow.
constexpr Duration refresh_every = std::chrono::milliseconds(50);
/// Steps of a projection, in output tokens.
constexpr double grid_tokens = 4;
/// The law of answers hears of those that run once in so many tokens.
constexpr std::int64_t told_every = 32;
/// By what an engine says itself, memory is at its end below this share.
constexpr double physical_line = 0.005;
/// A fleet has few models; laws and triggers of more than these would cost memory without bound.
constexpr std::size_t most_models = 256;

}  // namespace

FleetRedline::FleetRedline(const Options& options)
    : options_(options),
      z_(maths::normal_quantile(options.level)),
      unknown_(options.unknown_output),
      heavy_(options.heavy) {}

FleetRedline::Worker& FleetRedline::worker(WorkerId id) {
  while (workers_.size() <= id.value) {
    workers_.push_back(std::make_unique<Worker>(CapacityLease(options_.lease, options_.when_cut_off, options_.share)));
  }
  return *workers_[id.value];
}

const FleetRedline::Worker* FleetRedline::find(WorkerId id) const {
  return id.value < workers_.size() ? workers_[id.value].get() : nullptr;
}

FleetRedline::Model& FleetRedline::model(ModelId id) {
  const auto found = models_.find(id);
  if (found != models_.end()) return *found->second;
  if (models_.size() < most_models) return *models_.emplace(id, std::make_unique<Model>(options_)).first->second;
  if (others_ == nullptr) others_ = std::make_unique<Model>(options_);
  return *others_;
}

const FleetRedline::Model* FleetRedline::find(ModelId id) const {
  const auto found = models_.find(id);
  return found == models_.end() ? others_.get() : found->second.get();
}

// --- what happens ------------------------------------------------------------------------------------------

void FleetRedline::heard(WorkerId id, Time looked, Tokens kv_used, Tokens kv_capacity) {
  Worker& of = worker(id);
  // Those that come back do so one after the other, else they would all take in the same rush.
  const auto turn = static_cast<std::int64_t>(mix64(id.value) % 1024);
  of.lease.renew(looked, options_.lease / 4 * turn / 1024);
  if (kv_capacity <= Tokens()) return;
  const Time before = of.physical.stamp();
  const bool known = of.physical.known();
  of.physical_capacity = kv_capacity.as_double();
  if (of.physical.sample(looked, (kv_capacity - kv_used).as_double()) && known) of.between = looked - before;
}

void FleetRedline::replaced(WorkerId id) {
  Worker& of = worker(id);
  of.physical.forget();
  of.between = Duration(0);
  of.lease = CapacityLease(options_.lease, options_.when_cut_off, options_.share);
}

void FleetRedline::admitted(WorkerId id, RequestId request, const Demand& demand) {
  Worker& of = worker(id);
  of.residents.insert_or_assign(request,
                                Resident{demand.signs, demand.model, demand.sequences, demand.heavy, demand.heavy});
  const double before = of.peak;
  of.projection.add(demand.part);
  of.peak = of.projection.peak(z_);
  model(demand.model).left.usable -= std::max(0.0, of.peak - before);  // until the next look
}

void FleetRedline::ended(const fleet::LeaseSummary& summary) {
  Worker& of = worker(summary.worker);
  const auto found = of.residents.find(summary.request);
  if (found == of.residents.end()) return;
  const Resident& resident = found->second;
  const std::int64_t length = summary.output_tokens.value() / resident.sequences;
  if (length > 0) {
    AnswerLaw& answers = model(resident.model).answers;
    answers.lived(resident.told, length);
    if (summary.outcome == fleet::Outcome::completed) {
      answers.ended(length);
      heavy_.ended(resident.signs, resident.called_heavy, length);
    }
  }
  of.residents.erase(found);
  of.changed = true;
}

bool FleetRedline::stale(WorkerId id, Time now) const {
  const Worker* const of = find(id);
  if (of == nullptr) return false;
  return of->changed ||
         (!of->residents.empty() && (of->refreshed == Time::min() || now - of->refreshed >= refresh_every));
}

void FleetRedline::refresh(WorkerId id, std::span<const fleet::RunningView> running, Time now) {
  Worker& of = worker(id);
  of.projection.clear();
  for (const fleet::RunningView& each : running) {
    const auto found = of.residents.find(each.id);
    if (found == of.residents.end()) continue;
    Resident& resident = found->second;
    AnswerLaw& answers = model(resident.model).answers;
    const std::int64_t age = each.generated / resident.sequences;
    if (age >= resident.told + told_every) {
      answers.lived(resident.told, age);
      resident.told = age;
    }
    of.projection.add(
        part_of(answers, each.prompt_tokens.value(), each.generated, resident.sequences, resident.signs.bound));
    if (!resident.found_heavy && heavy_.heavy_by_age(age)) {
      resident.found_heavy = true;
      heavy_.corrected();
    }
  }
  of.peak = of.projection.peak(z_);
  of.changed = false;
  of.refreshed = now;
}

void FleetRedline::look(ModelId id, std::span<const fleet::WorkerView> workers, Time now, bool may_release) {
  Model& of = model(id);
  of.left = {};
  double capacity = 0;
  double telling = 0;
  for (const fleet::WorkerView& view : workers) {
    const WorkerRedline state = status(view, now);
    if (state.capacity <= 0) continue;
    capacity += state.capacity;
    telling += 1;
    if (state.lease == LeaseMode::blocked) continue;
    of.left.add(state.capacity - state.used, state.floor + state.peak - state.used);
  }
  if (capacity <= 0) return;
  const double one = of.answers.mean();
  of.trigger.resize(options_.reserve * capacity, options_.band * capacity + telling * one);
  of.trigger.look(of.left, may_release);
}

// --- questions ---------------------------------------------------------------------------------------------

Projection::Part FleetRedline::part_of(const AnswerLaw& law, std::int64_t prompt, std::int64_t generated,
                                       std::int64_t sequences, std::int64_t bound) const {
  const auto each = static_cast<double>(sequences);
  const double held = static_cast<double>(prompt + generated) + block_tokens * each;
  const std::int64_t age = generated / sequences;
  return Projection::part_of(held, each, grid_tokens, [&](double ahead) { return law.survival(age, ahead, bound); });
}

double FleetRedline::footprint_of(const AnswerLaw& law, std::int64_t prompt, std::int64_t sequences,
                                  std::int64_t bound) const {
  FootprintLaw of;
  of.fixed = static_cast<double>(prompt);
  of.rate_per_s = static_cast<double>(sequences);  // time is in output tokens here, and the window a mean answer
  // Cut off at the bound, no answer is longer, nor is the mean; and E[S^2] is at most that times E[S].
  const double most = bound > 0 ? static_cast<double>(bound) : std::numeric_limits<double>::infinity();
  of.window_s = of.mean_s = std::min(law.mean(), most);
  of.mean_square_s2 = std::min(law.mean_square(), most * of.mean_s);
  return footprint(of, options_.footprint);
}

Demand FleetRedline::demand(ModelId model, const RequestSigns& signs, std::int64_t sequences) const {
  Demand need;
  need.model = model;
  need.signs = signs;
  need.sequences = std::max<std::int64_t>(sequences, 1);
  need.heavy = heavy_.heavy(signs);
  const Model* const known = find(model);
  const AnswerLaw& law = known == nullptr ? unknown_ : known->answers;
  need.footprint = footprint_of(law, signs.prompt_tokens, need.sequences, signs.bound);
  need.part = part_of(law, signs.prompt_tokens, 0, need.sequences, signs.bound);
  return need;
}

double FleetRedline::arrival_floor(const Worker* known, double capacity, Time now) const {
  if (options_.line == Line::published) return options_.silo * capacity;
  const LeaseMode mode = known == nullptr ? LeaseMode::siloed : known->lease.mode(now);
  return mode == LeaseMode::pooled ? block_tokens : options_.silo * capacity;
}

WorkerRedline FleetRedline::status(const fleet::WorkerView& view, Time now) const {
  const Worker* const known = find(view.id);
  WorkerRedline state;
  state.capacity = options_.share * view.kv_capacity.as_double();
  state.used = (view.load.kv_tokens() + view.foreign_tokens).as_double();
  const double grown = known == nullptr ? 0 : known->peak + view.foreign_tokens.as_double();
  state.peak = options_.line == Line::published ? state.used : std::max(state.used, grown);
  state.floor = arrival_floor(known, state.capacity, now);
  if (known == nullptr) return state;
  state.lease = known->lease.mode(now);
  // An engine that tells no capacity is not guarded, and need not be heard of.
  if (state.capacity <= 0 && state.lease == LeaseMode::blocked) state.lease = LeaseMode::siloed;
  const double line = options_.line == Line::published ? options_.silo : physical_line;
  state.crossed = known->physical.crossed(line * known->physical_capacity, known->between);
  return state;
}

bool FleetRedline::has_room(const fleet::WorkerView& view, Time now) const {
  const WorkerRedline state = status(view, now);
  if (state.lease == LeaseMode::blocked) return false;
  if (state.capacity <= 0 || view.load.in_flight == 0) return true;
  return !state.crossed && state.peak + block_tokens <= state.capacity - state.floor;
}

Verdict FleetRedline::judge(const fleet::WorkerView& view, const Demand& demand, Time now) const {
  const WorkerRedline state = status(view, now);
  Amounts capacity;
  Amounts left;
  Amounts need;
  capacity[Resource::kv_memory] = state.capacity;
  left[Resource::kv_memory] = state.capacity - state.used;
  need[Resource::kv_memory] = demand.footprint;
  capacity[Resource::slots] = static_cast<double>(view.max_in_flight);
  left[Resource::slots] = static_cast<double>(view.max_in_flight) - view.requests();
  need[Resource::slots] = 1;
  capacity[Resource::prefill] = static_cast<double>(options_.prefill_tokens);
  left[Resource::prefill] = static_cast<double>(options_.prefill_tokens - view.load.queued_prompt.value());
  need[Resource::prefill] = static_cast<double>(demand.signs.prompt_tokens);
  Verdict verdict;
  verdict.left = dominant(capacity, left, need);
  if (state.lease == LeaseMode::blocked) verdict.admissible = false;
  if (!verdict.admissible || view.load.in_flight == 0) return verdict;
  const auto refuse = [&](Resource by) {
    verdict.admissible = false;
    verdict.left = {by, (left[by] - need[by]) / capacity[by]};
  };
  if (view.load.queued_prompt > Tokens() && left[Resource::prefill] < need[Resource::prefill]) {
    refuse(Resource::prefill);
  }
  if (state.capacity <= 0) return verdict;
  const double ceiling = state.capacity - state.floor;
  const Worker* const known = find(view.id);
  double then = state.used + demand.footprint;
  if (options_.line == Line::growth && known != nullptr) {
    if (state.peak > ceiling) {
      then = state.peak;
    } else {
      then = view.foreign_tokens.as_double() + known->projection.peak_with(demand.part, z_);
    }
  }
  if (state.crossed || then > ceiling) refuse(Resource::kv_memory);
  const Model* const of = find(demand.model);
  if (verdict.admissible && of != nullptr && refuses(demand)) {
    // Metered: the fleet's reserve must stay whole.
    const double cost = std::max(0.0, then - state.peak);
    const bool spare = options_.when_frozen == WhenFrozen::meter && of->left.usable - cost >= of->trigger.reserve();
    if (!spare) refuse(Resource::kv_memory);
  }
  return verdict;
}

bool FleetRedline::frozen(ModelId id) const {
  const Model* const of = find(id);
  return of != nullptr && of->trigger.frozen();
}

std::vector<FleetStatus> FleetRedline::fleet() const {
  std::vector<FleetStatus> all;
  for (const auto& [id, of] : models_) {
    all.push_back({id, of->trigger.frozen(), of->left.usable, of->trigger.reserve(), of->left.stranded(),
                   of->trigger.freezes(), of->trigger.releases()});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.model < b.model; });
  return all;
}

}  // namespace evenkeel::redline
