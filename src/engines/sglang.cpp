#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "engines/json.hpp"
#include "engines/kinds.hpp"
#include "engines/series.hpp"

namespace evenkeel::engines {
namespace {

// /v1/loads is fresher (15 decode steps against 40) and needs no --enable-metrics; /metrics fills what it
// leaves open and speaks for versions that have no /v1/loads.
constexpr std::array<Scrape, 2> pages = {Scrape{"/v1/loads?include=core"}, Scrape{"/metrics"}};

constexpr std::array<std::string_view, 1> running = {"sglang:num_running_reqs"};
constexpr std::array<std::string_view, 1> waiting = {"sglang:num_queue_reqs"};
constexpr std::array<std::string_view, 2> kv_used = {"sglang:kv_used_tokens", "sglang:num_used_tokens"};
constexpr std::array<std::string_view, 1> kv_capacity = {"sglang:max_total_num_tokens"};
constexpr std::array<std::string_view, 1> retractions = {"sglang:num_retracted_requests_total"};
constexpr std::array<std::string_view, 1> prompts = {"sglang:prompt_tokens_total"};
constexpr std::array<std::string_view, 1> started = {"process_start_time_seconds"};
constexpr std::array<std::string_view, 8> wanted = {running[0],     waiting[0],     kv_used[0], kv_used[1],
                                                    kv_capacity[0], retractions[0], prompts[0], started[0]};

using ByNumber = std::map<std::uint32_t, Report>;

/// A retracted request returns to the queue and is computed anew: a preemption.
void read_metrics(const std::string& body, Report& report, ByNumber& ranks) {
  // With priority scheduling the total stands under priority="" and its parts under their numbers.
  const Series series(body, wanted, "dp_rank", "priority");
  report.running = series.sum(running);
  report.waiting = series.sum(waiting);
  report.kv_used = tokens_of(series.sum(kv_used));
  report.kv_capacity = tokens_of(series.sum(kv_capacity));
  report.preemptions_total = series.sum(retractions);
  report.prompt_total = series.sum(prompts);
  report.started = series.sum(started);
  const Series::ByRank* known = series.find(running);
  if (known == nullptr) return;
  for (const RankLabel& label : numbered(*known)) {
    Report& rank = ranks[label.number];
    rank.running = series.of(running, label.text);
    rank.waiting = series.of(waiting, label.text);
    rank.kv_used = tokens_of(series.of(kv_used, label.text));
    rank.kv_capacity = tokens_of(series.of(kv_capacity, label.text));
    rank.preemptions_total = series.of(retractions, label.text);
    rank.started = report.started;
  }
}

std::optional<double> sum_of(simdjson::dom::array ranks, std::string_view field) {
  Sum sum;
  for (const simdjson::dom::element rank : ranks) sum.add(amount_member(rank, field));
  return sum.get();
}

template <class Value>
void prefer(std::optional<Value>& known, std::optional<Value> better) {
  if (better) known = better;
}

/// Each entry by the rank that it names, never by its place in the list. Nothing is taken if one names none, or two
/// the same.
void read_rank_loads(simdjson::dom::array loads, ByNumber& ranks) {
  ByNumber told;
  for (const simdjson::dom::element load : loads) {
    const auto number = amount_member(load, "dp_rank");
    if (!number || *number != std::floor(*number) || *number > std::numeric_limits<std::uint32_t>::max()) return;
    const auto [at, fresh] = told.try_emplace(static_cast<std::uint32_t>(*number));
    if (!fresh) return;
    Report& rank = at->second;
    rank.running = amount_member(load, "num_running_reqs");
    rank.waiting = amount_member(load, "num_waiting_reqs");
    rank.kv_used = tokens_of(amount_member(load, "num_used_tokens"));
    rank.kv_capacity = tokens_of(amount_member(load, "max_total_num_tokens"));
    rank.slots = slots_of(amount_member(load, "max_running_requests"));
  }
  for (const auto& [number, better] : told) {
    Report& rank = ranks[number];
    prefer(rank.running, better.running);
    prefer(rank.waiting, better.waiting);
    prefer(rank.kv_used, better.kv_used);
    prefer(rank.kv_capacity, better.kv_capacity);
    rank.slots = better.slots;
  }
}

void read_loads(const std::string& body, Report& report, ByNumber& by_number) {
  const Json json(body);
  if (!json.root()) return;
  const auto loads = member(*json.root(), "loads");
  simdjson::dom::array ranks;
  if (!loads || loads->get(ranks) != simdjson::SUCCESS) return;
  prefer(report.running, sum_of(ranks, "num_running_reqs"));
  prefer(report.waiting, sum_of(ranks, "num_waiting_reqs"));
  prefer(report.kv_used, tokens_of(sum_of(ranks, "num_used_tokens")));
  prefer(report.kv_capacity, tokens_of(sum_of(ranks, "max_total_num_tokens")));
  report.slots = slots_of(sum_of(ranks, "max_running_requests"));
  read_rank_loads(ranks, by_number);
}

class Sglang final : public Adapter {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::sglang; }
  [[nodiscard]] std::span<const Scrape> scrapes() const override { return pages; }
  [[nodiscard]] std::string_view version_path() const override { return "/server_info"; }
  [[nodiscard]] std::int64_t default_max_in_flight() const override { return 256; }  // until /v1/loads tells its own

  // It counts before routed_dp_rank in the body, which so stays as the client wrote it.
  [[nodiscard]] std::string_view rank_field() const override { return "X-Data-Parallel-Rank"; }

  [[nodiscard]] Reading read(std::span<const std::string> bodies) const override {
    Reading reading;
    ByNumber ranks;
    if (bodies.size() > 1) read_metrics(bodies[1], reading.whole, ranks);
    if (!bodies.empty()) read_loads(bodies[0], reading.whole, ranks);
    // Its radix cache is on unless it was started without, which no page tells.
    if (reading.whole.kv_capacity) reading.whole.prefix_caching = true;
    if (ranks.size() > max_ranks) return reading;
    for (auto& [number, report] : ranks) {
      if (report.kv_capacity) report.prefix_caching = true;
      reading.ranks.push_back({number, report});
    }
    return reading;
  }
};

}  // namespace

const Adapter& sglang() {
  static const Sglang instance;
  return instance;
}

}  // namespace evenkeel::engines
