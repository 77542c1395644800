#include <array>

#include "engines/json.hpp"
#include "engines/kinds.hpp"
#include "engines/series.hpp"

namespace evenkeel::engines {
namespace {

// /slots is on by default, /metrics only by flag.
constexpr std::array<Scrape, 2> pages = {Scrape{"/slots"}, Scrape{"/metrics"}};

constexpr std::array<std::string_view, 1> running = {"llamacpp:requests_processing"};
constexpr std::array<std::string_view, 1> waiting = {"llamacpp:requests_deferred"};
// Gone since; while they were there they gave use and, by division, capacity.
constexpr std::array<std::string_view, 1> kv_tokens = {"llamacpp:kv_cache_tokens"};
constexpr std::array<std::string_view, 1> kv_ratio = {"llamacpp:kv_cache_usage_ratio"};
constexpr std::array<std::string_view, 4> wanted = {running[0], waiting[0], kv_tokens[0], kv_ratio[0]};

void read_metrics(const std::string& body, Report& report) {
  const Series series(body, wanted, "");
  report.running = series.sum(running);
  report.waiting = series.sum(waiting);
  const auto tokens = series.sum(kv_tokens);
  const auto ratio = series.sum(kv_ratio);
  report.kv_used = tokens_of(tokens);
  if (tokens && ratio && *tokens > 0 && *ratio > 0 && *ratio <= 1) report.kv_capacity = tokens_of(*tokens / *ratio);
}

/// Slots may share one KV buffer, and then each states the whole of it as its n_ctx: only of a single slot is
/// the capacity known. An idle slot keeps its sequence as cache, which the next request may overwrite: that
/// is free.
void read_slots(const std::string& body, Report& report) {
  const Json json(body);
  simdjson::dom::array slots;
  if (!json.root() || json.root()->get(slots) != simdjson::SUCCESS || slots.size() == 0) return;
  double busy = 0;
  Sum used;
  used.add(0);
  for (const simdjson::dom::element slot : slots) {
    const auto state = member(slot, "is_processing");
    bool processing = false;
    if (!state || state->get(processing) != simdjson::SUCCESS) return;
    if (!processing) continue;
    ++busy;
    used.add(amount_member(slot, "n_prompt_tokens"));  // grows by what is generated
  }
  report.slots = static_cast<std::int64_t>(slots.size());
  report.running = busy;
  if (const auto tokens = used.get()) report.kv_used = tokens_of(tokens);
  if (slots.size() == 1) {
    if (const auto context = amount_member(slots.at(0).value(), "n_ctx")) report.kv_capacity = tokens_of(context);
  }
}

class LlamaCpp final : public Adapter {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::llama_cpp; }
  [[nodiscard]] std::span<const Scrape> scrapes() const override { return pages; }
  [[nodiscard]] std::int64_t default_max_in_flight() const override { return 4; }  // --parallel auto

  [[nodiscard]] Reading read(std::span<const std::string> bodies) const override {
    Reading reading;
    if (bodies.size() > 1) read_metrics(bodies[1], reading.whole);
    if (!bodies.empty()) read_slots(bodies[0], reading.whole);
    return reading;
  }
};

}  // namespace

const Adapter& llama_cpp() {
  static const LlamaCpp instance;
  return instance;
}

}  // namespace evenkeel::engines
