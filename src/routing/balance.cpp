#include "routing/balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "routing/smallest.hpp"

namespace evenkeel::routing {

namespace {

constexpr double learning_rate = 0.01;  // of mean prompt, bias and time between departures: a memory of a hundred
constexpr double late_share = 0.01;     // of the admissions that may come later than half their deadline
constexpr double patience_step = 0.05;  // of the logarithm of patience, per admission
constexpr double patience_least = 0.1;
constexpr double patience_most = 100;
constexpr double giant = 3;           // mean prompts; such a request seeks its place early
constexpr double giant_seeks = 0.25;  // share of its deadline after which it does
constexpr double hold_worth = 0.5;    // idle slot-steps of rise that are held back: a rise outlasts the step
constexpr double longest_hold = 2;    // mean times between two departures of a worker

}  // namespace

double Balance::deadline(std::uint32_t found_waiting) { return 9 * std::sqrt(static_cast<double>(found_waiting)) + 4; }

void Balance::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
                   std::vector<fleet::Placement>& placements) {
  if (waiting.empty()) return;
  set_up(waiting, fleet, now);
  Learned& learned = learned_[waiting.front().model];
  if (learned.mean_prompt == 0) {
    for (const Guest& guest : guests_) learned.mean_prompt += guest.prompt / static_cast<double>(guests_.size());
  }
  while (open_ > 0 && unplaced_ > 0) {
    fill_virtually(learned.mean_prompt);
    const auto choice = choose(waiting, learned, random);
    if (!choice) return;
    if (better_held(*choice, fleet, now)) {
      Berth& berth = berths_[choice->berth];
      berth.passed_by = true;
      reserved_ = reserved_ || choice->reason == "giant";
      continue;
    }
    const double misfit = choice->gap - guests_[choice->guest].prompt;
    const auto considered = static_cast<std::uint32_t>(waiting[choice->guest].candidates.size());
    placements.push_back({choice->guest, choice->berth, choice->reason, misfit, considered});
    admit(*choice, fleet, learned, now);
  }
}

void Balance::set_up(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now) {
  fleet::StepTime fastest{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  bool timed = true;
  for (const fleet::WorkerView& worker : fleet.workers) {
    timed = timed && worker.step_time.known();
    fastest.fixed_s = std::min(fastest.fixed_s, worker.step_time.fixed_s);
    fastest.token_s = std::min(fastest.token_s, worker.step_time.token_s);
  }
  token_s_ = timed ? fastest.token_s : 0;
  berths_.clear();
  open_ = 0;
  full_ = 0;
  for (const fleet::WorkerView& worker : fleet.workers) {
    Berth& berth = berths_.emplace_back();
    const double tokens = (worker.load.kv_tokens() + worker.foreign_tokens).as_double();
    berth.weight = timed ? worker.step_time.token_s / fastest.token_s : 1;
    berth.load = berth.weight * tokens;
    if (timed) berth.load += (worker.step_time.fixed_s - fastest.fixed_s) / fastest.token_s;
    berth.step_s = timed ? worker.step_time.of(tokens) : 0;
    berth.open = std::max<std::int64_t>(0, worker.free_slots());
    open_ += berth.open;
    if (berth.open == 0) ++full_;
    Departures& departures = departures_of(worker.id);
    if (berth.open > 0 && !departures.open_since) departures.open_since = now;
  }
  guests_.clear();
  for (const fleet::WaitingView& request : waiting) {
    guests_.push_back({request.prompt_tokens.as_double(), static_cast<double>(request.overtaken),
                       deadline(request.found_waiting), false});
  }
  unplaced_ = guests_.size();
  reserved_ = false;
}

/// Every open slot but the one in hand counts as if it held the mean prompt already, as far as the pool can fill it.
void Balance::fill_virtually(double mean_prompt) {
  const double others = static_cast<double>(open_ - 1);
  slot_fill_ = others > 0 ? mean_prompt * std::min(1.0, static_cast<double>(unplaced_ - 1) / others) : 0;
  filled_sum_ = 0;
  for (const Berth& berth : berths_) {
    filled_sum_ += berth.load + berth.weight * slot_fill_ * static_cast<double>(berth.open);
  }
}

double Balance::filled_but_one(std::uint32_t index) const {
  const Berth& berth = berths_[index];
  return berth.load + berth.weight * slot_fill_ * static_cast<double>(berth.open - 1);
}

/// The prompt that would lift the worker to the mean of the others.
double Balance::gap_to_mean(std::uint32_t index) const {
  if (berths_.size() < 2) return 0;
  const double mine = filled_but_one(index);
  const double others = filled_sum_ - mine - berths_[index].weight * slot_fill_;
  return (others / static_cast<double>(berths_.size() - 1) - mine) / berths_[index].weight;
}

double Balance::share_full_beside(std::uint32_t index) const {
  if (berths_.size() < 2) return 0;
  return (full_ - (berths_[index].open == 0 ? 1 : 0)) / static_cast<double>(berths_.size() - 1);
}

/// A worker that lost a request lacks prompt and output, and gets a prompt: its gap to the mean is too wide by an
/// output on average. That bias is learned, and counts as far as the others are full.
double Balance::gap(std::uint32_t index, const Learned& learned) const {
  return gap_to_mean(index) - learned.bias * share_full_beside(index);
}

std::optional<Balance::Choice> Balance::choose(std::span<const fleet::WaitingView> waiting, const Learned& learned,
                                               Random& random) {
  if (const auto guest = most_pressing(waiting, learned.mean_prompt)) {
    const bool due = guests_[*guest].overtaken >= guests_[*guest].deadline;
    if (const auto berth = best_berth(*guest, waiting[*guest], learned, random)) {
      return Choice{*guest, *berth, due ? "due" : "giant", gap(*berth, learned)};
    }
  }
  while (const auto berth = lightest_berth(random)) {
    if (const auto guest = best_guest(*berth, waiting, learned)) {
      return Choice{*guest, *berth, "fit", gap(*berth, learned)};
    }
    berths_[*berth].passed_by = true;  // nobody who waits may go there
  }
  return std::nullopt;
}

/// Of the most urgent that wait: the first that may be overtaken no more; else the first giant that seeks its place,
/// one at a time.
std::optional<std::uint32_t> Balance::most_pressing(std::span<const fleet::WaitingView> waiting,
                                                    double mean_prompt) const {
  std::optional<std::uint32_t> seeking;
  std::optional<std::int64_t> priority;
  for (std::uint32_t i = 0; i < guests_.size(); ++i) {
    const Guest& guest = guests_[i];
    if (guest.placed) continue;
    if (priority.value_or(waiting[i].priority) != waiting[i].priority) break;
    priority = waiting[i].priority;
    if (guest.overtaken >= guest.deadline) return i;
    const bool seeks = guest.prompt >= giant * mean_prompt && guest.overtaken >= giant_seeks * guest.deadline;
    if (seeks && !seeking) seeking = i;
  }
  return options_.hold && !reserved_ ? seeking : std::nullopt;
}

std::optional<std::uint32_t> Balance::best_berth(std::uint32_t guest, const fleet::WaitingView& request,
                                                 const Learned& learned, Random& random) const {
  Smallest misfit;
  for (const std::uint32_t index : request.candidates) {
    if (berths_[index].open == 0 || berths_[index].passed_by) continue;
    const double difference = guests_[guest].prompt - gap(index, learned);
    misfit.offer(std::abs(difference) * berths_[index].weight, index, random);
  }
  return misfit.place();
}

std::optional<std::uint32_t> Balance::lightest_berth(Random& random) const {
  Smallest lightest;
  for (std::uint32_t index = 0; index < berths_.size(); ++index) {
    if (berths_[index].open == 0 || berths_[index].passed_by) continue;
    lightest.offer(filled_but_one(index), index, random);
  }
  return lightest.place();
}

std::optional<std::uint32_t> Balance::best_guest(std::uint32_t berth, std::span<const fleet::WaitingView> waiting,
                                                 const Learned& learned) const {
  const double wanted = gap(berth, learned);
  const double scale = 1 / std::max(1.0, learned.mean_prompt);
  std::optional<std::uint32_t> best;
  double best_score = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < guests_.size(); ++i) {
    const Guest& guest = guests_[i];
    if (guest.placed) continue;
    if (best && waiting[i].priority != waiting[*best].priority) break;  // the less urgent come after
    const double misfit = (guest.prompt - wanted) * scale;
    const double score = misfit * misfit - learned.patience * guest.overtaken / guest.deadline;
    if (score >= best_score) continue;
    const auto& allowed = waiting[i].candidates;
    if (allowed.size() < berths_.size() && !std::binary_search(allowed.begin(), allowed.end(), berth)) continue;
    best = i;
    best_score = score;
  }
  return best;
}

/// Whether filling the slot now would raise the barrier of its sync group by more than leaving it open for this step
/// costs. The barrier is where it will stand once the other open slots are filled: slots that open together are filled
/// together.
bool Balance::better_held(const Choice& choice, const fleet::FleetView& fleet, Time now) const {
  const fleet::WorkerView& worker = fleet.workers[choice.berth];
  if (!options_.hold || choice.reason == "due" || worker.group == 0 || token_s_ == 0 || departure_gap_s_ == 0) {
    return false;
  }
  if (static_cast<std::int64_t>(unplaced_) <= open_) return false;
  const Departures& departures = departures_[worker.id.value];
  if (to_seconds(now - *departures.open_since) >= longest_hold * departure_gap_s_) return false;
  double barrier = filled_but_one(choice.berth);
  double step_s = 0;
  double slots = 0;
  for (std::uint32_t index = 0; index < berths_.size(); ++index) {
    if (fleet.workers[index].group != worker.group) continue;
    step_s = std::max(step_s, berths_[index].step_s);
    slots += static_cast<double>(fleet.workers[index].max_in_flight);
    if (index == choice.berth) continue;
    barrier = std::max(barrier, filled_but_one(index) + berths_[index].weight * slot_fill_);
  }
  const double idle_slot_price = step_s / (token_s_ * slots);  // of one step, in tokens of barrier load
  const Berth& berth = berths_[choice.berth];
  return berth.load + berth.weight * guests_[choice.guest].prompt - barrier > hold_worth * idle_slot_price;
}

void Balance::admit(const Choice& choice, const fleet::FleetView& fleet, Learned& learned, Time now) {
  Berth& berth = berths_[choice.berth];
  Guest& guest = guests_[choice.guest];
  const double rate = learning_rate * share_full_beside(choice.berth);
  learned.bias += rate * (gap_to_mean(choice.berth) - guest.prompt - learned.bias);
  learned.mean_prompt += learning_rate * (guest.prompt - learned.mean_prompt);
  const double late = 2 * guest.overtaken > guest.deadline ? 1 : 0;
  learned.patience *= std::exp(patience_step * (late - late_share));
  learned.patience = std::clamp(learned.patience, patience_least, patience_most);

  guest.placed = true;
  --unplaced_;
  for (std::uint32_t i = 0; i < choice.guest; ++i) ++guests_[i].overtaken;
  berth.load += berth.weight * guest.prompt;
  --open_;
  if (--berth.open == 0) ++full_;
  Departures& departures = departures_of(fleet.workers[choice.berth].id);
  departures.open_since.reset();
  if (berth.open > 0) departures.open_since = now;
}

void Balance::ended(const fleet::LeaseSummary& summary, Time now) {
  Departures& departures = departures_of(summary.worker);
  if (departures.last) {
    const double gap_s = to_seconds(now - *departures.last);
    departure_gap_s_ += (departure_gap_s_ == 0 ? 1 : learning_rate) * (gap_s - departure_gap_s_);
  }
  departures.last = now;
  if (!departures.open_since) departures.open_since = now;
}

Balance::Departures& Balance::departures_of(WorkerId worker) {
  if (worker.value >= departures_.size()) departures_.resize(worker.value + 1);
  return departures_[worker.value];
}

}  // namespace evenkeel::routing
