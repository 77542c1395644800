#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "engines/kinds.hpp"
#include "engines/series.hpp"

namespace evenkeel::engines {
namespace {

// New names first. gpu_cache_usage_perc is the name up to v0.10; swapped requests exist in V0 only, where a
// preempted request waits outside the batch.
constexpr std::array<std::string_view, 1> running = {"vllm:num_requests_running"};
constexpr std::array<std::string_view, 1> waiting = {"vllm:num_requests_waiting"};
constexpr std::array<std::string_view, 1> swapped = {"vllm:num_requests_swapped"};
constexpr std::array<std::string_view, 2> kv_usage = {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"};
constexpr std::array<std::string_view, 2> preemptions = {"vllm:num_preemptions_total", "vllm:num_preemptions"};
constexpr std::array<std::string_view, 2> prompts = {"vllm:prompt_tokens_total", "vllm:prompt_tokens"};
constexpr std::array<std::string_view, 1> started = {"process_start_time_seconds"};
constexpr std::array<std::string_view, 10> wanted = {running[0],  waiting[0],     swapped[0],     kv_usage[0],
                                                     kv_usage[1], preemptions[0], preemptions[1], prompts[0],
                                                     prompts[1],  started[0]};
constexpr std::string_view cache_config = "vllm:cache_config_info";
constexpr std::array<Scrape, 1> pages = {Scrape{"/metrics"}};

/// What an engine says of its KV cache.
struct Cache {
  std::optional<double> capacity;  ///< tokens
  std::optional<bool> prefix_caching;
};
using Caches = std::map<std::string, Cache>;

std::optional<double> whole_label(std::string_view labels, std::string_view name) {
  const auto text = label(labels, name);
  const auto number = text ? parse_unsigned(*text) : std::nullopt;
  return number ? amount(*text) : std::nullopt;
}

/// Tokens of KV cache of one engine: what it says, else all blocks but the null block, which holds nothing.
std::optional<double> capacity_of(std::string_view labels) {
  if (const auto told = whole_label(labels, "kv_cache_size_tokens"); told && *told > 0) return told;
  const auto blocks = whole_label(labels, "num_gpu_blocks");
  const auto block_size = whole_label(labels, "block_size");
  if (!blocks || !block_size || *blocks < 2 || *block_size < 1) return std::nullopt;
  return (*blocks - 1) * *block_size;
}

/// Python's True and False; None and whatever else say nothing.
std::optional<bool> prefix_caching_of(std::string_view labels) {
  const auto text = label(labels, "enable_prefix_caching");
  if (text == "True") return true;
  return text == "False" ? std::optional(false) : std::nullopt;
}

Caches caches(std::string_view page) {
  Caches found;
  if (page.size() > max_metrics_bytes) return found;
  while (const auto sample = next_sample(page)) {
    if (sample->name != cache_config) continue;
    found[label(sample->labels, "engine").value_or("")] = {capacity_of(sample->labels),
                                                           prefix_caching_of(sample->labels)};
  }
  return found;
}

Cache cache_of(const Caches& all, const std::string& engine) {
  if (const auto at = all.find(engine); at != all.end()) return at->second;
  // Versions that do not label the configuration have one engine kind behind all series.
  const auto unlabelled = all.find("");
  return unlabelled == all.end() ? Cache{} : unlabelled->second;
}

std::optional<double> held(std::optional<double> share, std::optional<double> capacity) {
  return share && *share <= 1 && capacity ? std::optional(*share * *capacity) : std::nullopt;
}

void read_kv(const Series& series, const Caches& all, Report& report) {
  Sum used;
  Sum capacity;
  const Series::ByRank* usage = series.find(kv_usage);
  if (usage == nullptr) {
    for (const auto& [engine, cache] : all) capacity.add(cache.capacity);
  } else {
    for (const auto& [engine, share] : *usage) {
      const auto tokens = cache_of(all, engine).capacity;
      capacity.add(tokens);
      used.add(held(share, tokens));
    }
  }
  report.kv_used = tokens_of(used.get());
  report.kv_capacity = tokens_of(capacity.get());
  if (!all.empty()) report.prefix_caching = all.begin()->second.prefix_caching;
}

Report read_rank(const Series& series, const Caches& all, const std::string& engine) {
  Report report;
  report.running = series.of(running, engine);
  report.waiting = series.of(waiting, engine);
  report.preemptions_total = series.of(preemptions, engine);
  const Cache cache = cache_of(all, engine);
  report.kv_capacity = tokens_of(cache.capacity);
  report.kv_used = tokens_of(held(series.of(kv_usage, engine), cache.capacity));
  report.prefix_caching = cache.prefix_caching;
  report.prompt_total = series.of(prompts, engine);
  report.started = series.sum(started);  // one process tells of all
  return report;
}

std::vector<RankReport> read_ranks(const Series& series, const Caches& all) {
  std::vector<RankReport> ranks;
  const Series::ByRank* known = series.find(running);
  if (known == nullptr) return ranks;
  for (const RankLabel& label : numbered(*known)) {
    ranks.push_back({label.number, read_rank(series, all, label.text)});
  }
  return ranks;
}

class Vllm final : public Adapter {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::vllm; }
  [[nodiscard]] std::span<const Scrape> scrapes() const override { return pages; }
  [[nodiscard]] std::string_view version_path() const override { return "/version"; }
  [[nodiscard]] std::int64_t default_max_in_flight() const override { return 256; }  // max_num_seqs; no page tells it

  [[nodiscard]] std::string_view rank_field() const override { return "X-Data-Parallel-Rank"; }

  [[nodiscard]] Reading read(std::span<const std::string> bodies) const override {
    Reading reading;
    if (bodies.empty()) return reading;
    Report& report = reading.whole;
    const Series series(bodies[0], wanted, "engine");
    report.running = series.sum(running);
    report.waiting = series.sum(waiting);
    if (report.waiting && series.find(swapped) != nullptr) {
      const auto out = series.sum(swapped);
      report.waiting = out ? std::optional(*report.waiting + *out) : std::nullopt;
    }
    report.preemptions_total = series.sum(preemptions);
    report.prompt_total = series.sum(prompts);
    report.started = series.sum(started);
    const Caches all = caches(bodies[0]);
    read_kv(series, all, report);
    reading.ranks = read_ranks(series, all);
    return reading;
  }
};

}  // namespace

const Adapter& vllm() {
  static const Vllm instance;
  return instance;
}

}  // namespace evenkeel::engines
