#include "simulation/retrace.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "dispatch/dispatcher.hpp"
#include "workload/json_fields.hpp"
#include "workload/line_reader.hpp"

namespace evenkeel::simulation {

namespace {

using workload::JsonFields;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
// Sums and differences of what is read stay far from overflow.
constexpr std::int64_t most_tokens = std::int64_t{1} << 40U;
constexpr std::int64_t most_reading = std::int64_t{1} << 50U;
constexpr std::int64_t most_ns = std::int64_t{1} << 60U;  // 36 years
constexpr std::int64_t most_workers = 1 << 20;
constexpr std::int64_t most_models = 1 << 20;
constexpr std::int64_t most_blocks = std::int64_t{1} << 30;

/// A request and what became of it: a worker, or a refusal.
struct Fate {
  std::int64_t request = 0;
  std::string what;
  friend bool operator==(const Fate&, const Fate&) = default;
};

/// Puts back what the recorded turn read, and compares what comes of it.
class Player final : public dispatch::Tape {
 public:
  /// The turn to come, as recorded.
  std::vector<std::int64_t> read_before;
  std::vector<Fate> fates_before;
  fleet::LeaseSummary lease_before;

  std::uint64_t same = 0;
  std::optional<std::string> difference;

  void begin(const dispatch::Ask&, Time) override { at_ = fate_at_ = 0; }
  void read(std::int64_t& value) override {
    if (at_ < read_before.size()) {
      value = read_before[at_];
    } else {
      differ("more is read from the books than was");
    }
    ++at_;
  }
  void ended(fleet::LeaseSummary& summary) override {
    summary.outcome = lease_before.outcome;
    summary.prompt_tokens = lease_before.prompt_tokens;
    summary.output_tokens = lease_before.output_tokens;
    summary.had_output = lease_before.had_output;
    summary.held = lease_before.held;
  }
  void placed(RequestId request, WorkerId worker, std::string_view) override {
    compare({static_cast<std::int64_t>(request.value), fmt::format("placed at worker {}", worker.value)});
  }
  void refused(RequestId request, fleet::Refusal why) override {
    compare({static_cast<std::int64_t>(request.value), fmt::format("refused: {}", fleet::to_string(why))});
  }
  void finish() override {
    if (fate_at_ < fates_before.size()) {
      const Fate& missing = fates_before[fate_at_];
      differ(fmt::format("request {} is not {}, as it was", missing.request, missing.what));
    }
    if (at_ < read_before.size()) differ("less is read from the books than was");
  }

 private:
  void compare(const Fate& now) {
    if (fate_at_ >= fates_before.size()) {
      differ(fmt::format("request {} is {}, and was not", now.request, now.what));
    } else if (const Fate& before = fates_before[fate_at_]; before != now) {
      differ(fmt::format("request {} is {}; recorded is that request {} was {}", now.request, now.what, before.request,
                         before.what));
    } else {
      ++same;
    }
    ++fate_at_;
  }
  void differ(std::string how) {
    if (!difference) difference = std::move(how);
  }

  std::size_t at_ = 0;
  std::size_t fate_at_ = 0;
};

/// One start of the router: its dispatcher, and the leases it has given.
class World {
 public:
  World(const dispatch::DispatcherOptions& options, std::unique_ptr<routing::Policy> policy, std::uint64_t seed)
      : dispatcher_(options, std::move(policy), clock_, seed, &player) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { close(); }

  /// One recorded turn, whose readings and fates the player has.
  void play(const JsonFields& turn, workload::LineReader& lines);

  Player player;

 private:
  struct Catch final : dispatch::Waiter {
    explicit Catch(World& owner) : world(owner) {}
    void granted(dispatch::Granted granted) override { world.keep(std::move(granted.lease)); }
    void refused(dispatch::Refused) override {}
    World& world;
  };

  [[nodiscard]] WorkerId worker_of(const JsonFields& turn) const;
  void keep(fleet::Lease lease) { leases_[lease.request()] = std::move(lease); }
  void submit(const dispatch::Submission& submission);
  void end(const JsonFields& turn, workload::LineReader& lines);
  /// What is still open ends, and is neither read nor compared.
  void close() {
    player.read_before.clear();
    player.fates_before.clear();
    dispatcher_.close();  // else what waits would be given a lease while they are cleared
    leases_.clear();
  }

  ManualClock clock_;
  std::int64_t workers_ = 0;
  std::unordered_map<RequestId, fleet::Lease> leases_;
  std::shared_ptr<dispatch::Waiter> catch_ = std::make_shared<Catch>(*this);
  dispatch::Dispatcher dispatcher_;
};

WorkerId World::worker_of(const JsonFields& turn) const {
  return {static_cast<std::uint32_t>(turn.whole("worker", 0, workers_ - 1))};
}

std::vector<ModelId> models_of(const JsonFields& turn) {
  std::vector<ModelId> models;
  turn.each_whole("models", 0, most_models,
                  [&](std::int64_t id) { models.push_back({static_cast<std::uint32_t>(id)}); });
  return models;
}

template <class Named, class Range>
Named named(const JsonFields& turn, std::string_view key, const Range& all) {
  const std::string_view word = turn.text(key);
  for (const Named one : all) {
    if (to_string(one) == word) return one;
  }
  turn.reject(key, "a name that this version writes");
  return *std::begin(all);
}

std::shared_ptr<const affinity::PromptChain> prefix_of(const JsonFields& turn) {
  auto chain = std::make_shared<affinity::PromptChain>();
  chain->block_tokens = turn.number("block_tokens", 0, 1e9);
  turn.each_whole("prefix", least, most,
                  [&](std::int64_t link) { chain->links.push_back(static_cast<affinity::ChainHash>(link)); });
  return chain;
}

/// [[prompt, output, completed, key], ...]
std::vector<forecast::EndedRequest> ended_of(const JsonFields& turn) {
  constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
  std::vector<forecast::EndedRequest> all;
  for (const auto element : turn.array("ended")) {
    std::array<std::int64_t, 4> values{};
    simdjson::dom::array four;
    bool good = element.get(four) == simdjson::SUCCESS && four.size() == values.size();
    for (std::size_t i = 0; good && i < values.size(); ++i) good = four.at(i).get(values[i]) == simdjson::SUCCESS;
    const auto& [prompt, output, completed, key] = values;
    good = good && prompt >= 0 && prompt <= longest && output >= 0 && output <= longest && completed >= 0 &&
           completed <= 1;
    if (!good) {
      turn.reject("ended", "a list of [prompt, output, completed, key]");
      return {};
    }
    all.push_back({static_cast<std::uint64_t>(key), static_cast<std::int32_t>(prompt),
                   static_cast<std::int32_t>(output), completed == 1});
  }
  return all;
}

std::shared_ptr<const dispatch::ToldHits> told_hits_of(const JsonFields& turn) {
  auto hits = std::make_shared<dispatch::ToldHits>();
  turn.each_whole("held_workers", 0, most_workers,
                  [&](std::int64_t id) { hits->emplace_back(WorkerId{static_cast<std::uint32_t>(id)}, Tokens()); });
  std::size_t at = 0;
  turn.each_whole("held_tokens", 0, most_tokens, [&](std::int64_t tokens) {
    if (at < hits->size()) (*hits)[at].second = Tokens(tokens);
    ++at;
  });
  if (at != hits->size()) turn.reject("held_tokens", "as long as held_workers");
  return hits;
}

/// Two lists of one length.
std::vector<fleet::RatePoint> rate_points_of(const JsonFields& turn) {
  std::vector<fleet::RatePoint> points;
  turn.each_number("levels", 0, 1e9, [&](double level) { points.push_back({level, 0}); });
  std::size_t at = 0;
  turn.each_number("rates", 0, 1e12, [&](double rate) {
    if (at < points.size()) points[at].rate = rate;
    ++at;
  });
  if (at != points.size()) turn.reject("rates", "as many numbers as \"levels\" has");
  return points;
}

Time time_of(const JsonFields& turn, std::string_view key) {
  return Time(Duration(turn.whole(key, -most_ns, most_ns)));
}

dispatch::Submission submission_of(const JsonFields& turn) {
  dispatch::Submission what;
  what.model = {static_cast<std::uint32_t>(turn.whole("model", 0, most_models))};
  what.prompt_tokens = Tokens(turn.whole("prompt", -most_tokens, most_tokens));
  what.bytes = Bytes(turn.whole("bytes", 0, most_tokens));
  what.priority = turn.whole("priority", least, most);
  what.client = {static_cast<std::uint64_t>(turn.whole("client", least, most))};
  what.affinity_key = static_cast<std::uint64_t>(turn.whole("affinity", least, most));
  what.prompt_key = static_cast<std::uint64_t>(turn.whole("key", least, most));
  what.attempt = static_cast<int>(turn.whole("attempt", 0, 1000));
  if (turn.has("prefix")) what.prefix = prefix_of(turn);
  if (turn.has("held_workers")) what.told_hits = told_hits_of(turn);
  if (turn.has("bound")) what.output_bound = Tokens(turn.whole("bound", 0, most_tokens));
  if (turn.has("sequences")) what.sequences = turn.whole("sequences", 1, 1 << 20);
  if (turn.has("heavy")) what.heavy = turn.whole("heavy", 0, 1) != 0;
  what.from_peer = turn.has("from_peer");
  what.at_once = turn.has("at_once");
  what.never_shed = turn.has("never_shed");
  if (turn.has("returned")) {
    what.returned = {{static_cast<std::uint64_t>(turn.whole("returned", 0, most))}, time_of(turn, "arrived")};
  }
  if (!turn.has("excluded")) return what;
  turn.each_whole("excluded", 0, most_workers,
                  [&](std::int64_t id) { what.excluded.add({static_cast<std::uint32_t>(id)}); });
  return what;
}

dispatch::EngineReport report_of(const JsonFields& turn) {
  constexpr double huge = std::numeric_limits<double>::max();
  dispatch::EngineReport report;
  report.asked = time_of(turn, "asked");
  report.received = time_of(turn, "received");
  report.running = turn.number("running", -huge, huge);
  report.waiting = turn.number("waiting", -huge, huge);
  report.kv_used = Tokens(turn.whole("kv_used", -most_reading, most_reading));
  report.kv_capacity = Tokens(turn.whole("kv_capacity", -most_reading, most_reading));
  return report;
}

void World::submit(const dispatch::Submission& submission) {
  auto decision = dispatcher_.submit(submission, [this] { return catch_; });
  if (auto* granted = std::get_if<dispatch::Granted>(&decision)) keep(std::move(granted->lease));
}

void World::end(const JsonFields& turn, workload::LineReader& lines) {
  player.lease_before.outcome = named<fleet::Outcome>(turn, "outcome", fleet::all_outcomes);
  player.lease_before.prompt_tokens = Tokens(turn.whole("prompt", 0, most_tokens));
  player.lease_before.output_tokens = Tokens(turn.whole("output", 0, most_tokens));
  player.lease_before.had_output = turn.whole("had_output", 0, 1) != 0;
  player.lease_before.held = Duration(turn.whole("held", 0, most_ns));
  const auto lease = leases_.find({static_cast<std::uint64_t>(turn.whole("request", 0, most))});
  if (lease == leases_.end()) return lines.reject("a lease ends that was not given");
  fleet::Lease ending = std::move(lease->second);
  leases_.erase(lease);
  ending.end(player.lease_before.outcome);
}

void World::play(const JsonFields& turn, workload::LineReader& lines) {
  constexpr std::array states = {dispatch::WorkerState::routable, dispatch::WorkerState::trial,
                                 dispatch::WorkerState::unroutable, dispatch::WorkerState::draining,
                                 dispatch::WorkerState::removed};
  constexpr std::array<std::string_view, 11> of_a_worker = {
      "set_state",     "set_models", "set_max_in_flight", "set_share",       "set_rate", "begin_rate",
      "set_step_time", "report",     "set_prefix_cache",  "forget_prefixes", "lease_at"};
  clock_.set(time_of(turn, "at"));
  const std::string_view asked = turn.text("ask");
  const bool addressed = std::find(of_a_worker.begin(), of_a_worker.end(), asked) != of_a_worker.end();
  const WorkerId worker = addressed ? worker_of(turn) : WorkerId{};
  if (lines.fault()) return;
  if (asked == "add_worker") {
    const WorkerId id = dispatcher_.add_worker(
        {std::string(turn.text("name")), models_of(turn), turn.whole("limit", -most_tokens, most_tokens),
         std::string(turn.text("group")), named<fleet::Role>(turn, "role", fleet::all_roles), turn.has("peer")});
    workers_ = std::max<std::int64_t>(workers_, id.value + 1);
  } else if (asked == "set_state") {
    dispatcher_.set_state(worker, named<dispatch::WorkerState>(turn, "state", states));
  } else if (asked == "set_models") {
    dispatcher_.set_models(worker, models_of(turn));
  } else if (asked == "set_max_in_flight") {
    dispatcher_.set_max_in_flight(worker, turn.whole("limit", -most_tokens, most_tokens));
  } else if (asked == "set_share") {
    constexpr double huge = std::numeric_limits<double>::max();
    dispatcher_.set_share(
        worker, {turn.whole("slots", -most_tokens, most_tokens), turn.whole("limit", -most_tokens, most_tokens),
                 turn.number("foreign", -huge, huge)});
  } else if (asked == "set_rate") {
    dispatcher_.set_rate(worker, rate_points_of(turn));
  } else if (asked == "begin_rate") {
    dispatcher_.begin_rate(worker, rate_points_of(turn));
  } else if (asked == "set_shedding") {
    dispatcher_.set_shedding(turn.whole("on", 0, 1) != 0);
  } else if (asked == "set_step_time") {
    dispatcher_.set_step_time(worker, {turn.number("fixed_s", 0, 1e9), turn.number("token_s", 0, 1e9)});
  } else if (asked == "report") {
    dispatcher_.report(worker, report_of(turn));
  } else if (asked == "set_prefix_cache") {
    dispatcher_.set_prefix_cache(worker, static_cast<std::size_t>(turn.whole("blocks", 0, most_blocks)));
  } else if (asked == "forget_prefixes") {
    dispatcher_.forget_prefixes(worker);
  } else if (asked == "set_alarm") {
    dispatcher_.set_alarm(turn.whole("on", 0, 1) != 0 ? [](Time) {} : dispatch::Dispatcher::Alarm());
  } else if (asked == "recall") {
    dispatcher_.recall({static_cast<std::uint32_t>(turn.whole("model", 0, most_models))}, ended_of(turn));
  } else if (asked == "submit") {
    submit(submission_of(turn));
  } else if (asked == "lease_at") {
    keep(dispatcher_.lease_at(worker, submission_of(turn)));
  } else if (asked == "cancel") {
    dispatcher_.cancel({static_cast<std::uint64_t>(turn.whole("request", 0, most))});
  } else if (asked == "ended") {
    end(turn, lines);
  } else if (asked == "pause") {
    dispatcher_.pause();
  } else if (asked == "resume") {
    dispatcher_.resume(turn.whole("step", 0, most_reading));
  } else if (asked == "plan_due") {
    dispatcher_.plan_due();
  } else if (asked == "tick") {
    dispatcher_.tick();
  } else if (asked == "close") {
    dispatcher_.close();
  } else {
    turn.reject("ask", "what this version writes");
  }
}

redline::Options redline_of(const JsonFields& head) {
  redline::Options options;
  options.on = head.has("redline");
  if (!options.on) return options;
  options.line = head.whole("redline_published", 0, 1) != 0 ? redline::Line::published : redline::Line::growth;
  options.level = head.number("redline_level", 0.5, 1 - 1e-12);
  options.footprint = named<redline::FootprintReading>(head, "redline_footprint", redline::all_footprint_readings);
  options.reserve = head.number("redline_reserve", 0, 1);
  options.band = head.number("redline_band", 0, 1);
  options.silo = head.number("redline_silo", 0, 1);
  options.share = head.number("redline_share", 1e-9, 1);
  options.prefill_tokens = head.whole("redline_prefill", 1, most_tokens);
  options.unknown_output = head.whole("redline_unknown_output", 1, most_tokens);
  options.lease = Duration(head.whole("redline_lease", 1, most_ns));
  if (head.whole("redline_blocks", 0, 1) != 0) options.when_cut_off = redline::WhenCutOff::block;
  if (head.whole("redline_closes", 0, 1) != 0) options.when_frozen = redline::WhenFrozen::close;
  options.heavy.heavy_tokens = head.whole("redline_heavy_tokens", 1, most_tokens);
  options.heavy.theta = head.number("redline_theta", 0, 1);
  options.heavy.most_clients = static_cast<std::size_t>(head.whole("redline_clients", 1, 1 << 24));
  return options;
}

Result<std::unique_ptr<World>> start(const JsonFields& head) {
  static_cast<void>(head.whole("evenkeel_recording", 1, 1));
  auto policy = routing::make_policy(head.text("policy"));
  if (!policy) return tl::unexpected(policy.error());
  dispatch::DispatcherOptions options;
  options.pool_requests = static_cast<std::size_t>(head.whole("pool_requests", 0, most));
  options.pool_bytes = Bytes(head.whole("pool_bytes", 0, most));
  options.pool_timeout = Duration(head.whole("pool_timeout", 0, most_ns));
  options.unroutable_wait = Duration(head.whole("unroutable_wait", 0, most_ns));
  if (head.has("overtake_cap")) options.overtake_cap = static_cast<int>(head.whole("overtake_cap", 0, 1 << 30));
  options.prompt_weight = head.number("prompt_weight", 0, 1e9);
  options.plan_window = static_cast<std::size_t>(head.whole("plan_window", 1, most));
  options.signal_lifetime = Duration(head.whole("signal_lifetime", 0, most_ns));
  options.prefix_index.total_blocks = static_cast<std::size_t>(head.whole("prefix_blocks", 0, most_blocks));
  options.prefix_index.lifetime = Duration(head.whole("prefix_lifetime", 0, most_ns));
  options.redline = redline_of(head);
  options.gather_share = head.number("gather_share", 0, 1);
  options.gather_limit = Duration(head.whole("gather_limit", 0, most_ns));
  if (head.has("mean_output")) options.mean_output = head.number("mean_output", 1e-9, 1e9);
  const auto seed = static_cast<std::uint64_t>(head.whole("seed", least, most));
  return std::make_unique<World>(options, std::move(*policy), seed);
}

/// What became of requests in a turn: [[request, worker, reason] or [request, refusal], ...]
void take_fates(const JsonFields& turn, std::vector<Fate>& fates, RetracedStart& result) {
  fates.clear();
  if (!turn.has("became")) return;
  for (const auto element : turn.array("became")) {
    Fate fate;
    simdjson::dom::array pair;
    simdjson::dom::element what;
    const bool shaped = element.get(pair) == simdjson::SUCCESS && pair.at(0).get(fate.request) == simdjson::SUCCESS &&
                        pair.at(1).get(what) == simdjson::SUCCESS && (what.is_int64() || what.is_string());
    if (!shaped) return turn.reject("became", "a list of [request, worker or refusal]");
    const bool placed = what.is_int64();
    fate.what =
        placed ? fmt::format("placed at worker {}", int64_t(what)) : fmt::format("refused: {}", std::string_view(what));
    ++(placed ? result.placements : result.refusals);
    fates.push_back(std::move(fate));
  }
}

void take_readings(const JsonFields& turn, Player& player) {
  player.read_before.clear();
  if (!turn.has("read")) return;
  turn.each_whole("read", -most_reading, most_reading,
                  [&](std::int64_t value) { player.read_before.push_back(value); });
}

/// The starts of a file, one after the other.
class Retracer {
 public:
  Retracer(workload::LineReader& lines, const std::function<void(std::uint64_t)>& progress)
      : lines_(lines), progress_(progress) {}

  /// The line at hand. What is wrong with it, if that is more than a loss, is the fault of the lines.
  void take_line();
  /// There is more than could be read.
  void end_early();
  std::vector<RetracedStart> starts;

 private:
  void begin(const JsonFields& head);
  void play(const JsonFields& turn);
  /// The rest of this start is passed over.
  void lose(std::string_view what);

  workload::LineReader& lines_;
  const std::function<void(std::uint64_t)>& progress_;
  simdjson::dom::parser parser_;
  std::unique_ptr<World> world_;  ///< null: no start yet, or the rest of one is passed over
  std::int64_t number_ = 0;
  std::uint64_t turns_ = 0;
};

void Retracer::take_line() {
  const std::string_view line = lines_.line();
  simdjson::dom::object object;
  if (parser_.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) {
    if (starts.empty()) return lines_.reject("the first line of a recording is its head, and this is no JSON object");
    if (world_ != nullptr) lose("is no whole line");
    return;
  }
  const JsonFields fields(lines_, object);
  if (fields.has("evenkeel_recording")) return begin(fields);
  if (starts.empty()) return lines_.reject("the first line of a recording is its head, with \"evenkeel_recording\"");
  if (world_ != nullptr) play(fields);
}

void Retracer::end_early() {
  if (world_ != nullptr) lose("is where the compressed file breaks off");
}

void Retracer::begin(const JsonFields& head) {
  world_.reset();  // its leases end before the next one's clock begins
  number_ = 0;
  auto made = start(head);
  if (lines_.fault()) return;
  if (!made) return lines_.reject(made.error().message);
  world_ = std::move(*made);
  starts.emplace_back().policy = head.text("policy");
}

void Retracer::lose(std::string_view what) {
  starts.back().lost = fmt::format("turn {} {} (line {})", number_ + 1, what, lines_.number());
  world_.reset();
}

void Retracer::play(const JsonFields& turn) {
  const std::int64_t number = turn.whole("n", 1, most);
  if (lines_.fault()) return;
  if (number != number_ + 1) return lose("is missing");
  number_ = number;
  RetracedStart& result = starts.back();
  Player& player = world_->player;
  take_readings(turn, player);
  take_fates(turn, player.fates_before, result);
  if (lines_.fault()) return;
  world_->play(turn, lines_);
  result.same = player.same;
  ++result.turns;
  if (player.difference) {
    result.difference = fmt::format("turn {}: {}", number_, *player.difference);
    world_.reset();
  }
  if (progress_ && ++turns_ % 4096 == 0) progress_(turns_);
}

}  // namespace

Result<std::vector<RetracedStart>> retrace(const std::string& path,
                                           const std::function<void(std::uint64_t)>& progress) {
  auto lines = workload::LineReader::open(path, workload::BrokenOff::end);
  if (!lines) return tl::unexpected(lines.error());
  Retracer retracer(*lines, progress);
  while (lines->next()) retracer.take_line();
  if (lines->cut()) retracer.end_early();
  if (lines->fault()) return tl::unexpected(*lines->fault());
  if (retracer.starts.empty()) {
    return failure(path +
                   (lines->cut() ? ": the compressed file ends before a recording begins" : ": no recording in it"));
  }
  return std::move(retracer.starts);
}

}  // namespace evenkeel::simulation
