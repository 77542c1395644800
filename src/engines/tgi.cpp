#include <array>

#include "engines/json.hpp"
#include "engines/kinds.hpp"
#include "engines/series.hpp"

namespace evenkeel::engines {
namespace {

constexpr std::array<Scrape, 2> pages = {Scrape{"/metrics"}, Scrape{"/info"}};

constexpr std::array<std::string_view, 1> running = {"tgi_batch_current_size"};
constexpr std::array<std::string_view, 1> waiting = {"tgi_queue_size"};
// Input plus all that each request may still generate is reserved at admission: an upper bound of use, and
// what decides whether the next one enters.
constexpr std::array<std::string_view, 1> kv_used = {"tgi_batch_current_max_tokens"};
constexpr std::array<std::string_view, 1> kv_capacity = {"tgi_batch_max_total_tokens"};
constexpr std::array<std::string_view, 4> wanted = {running[0], waiting[0], kv_used[0], kv_capacity[0]};

class Tgi final : public Adapter {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::tgi; }
  [[nodiscard]] std::span<const Scrape> scrapes() const override { return pages; }
  [[nodiscard]] std::string_view version_path() const override { return "/info"; }
  [[nodiscard]] std::int64_t default_max_in_flight() const override { return 128; }  // max_concurrent_requests
  // Its HTTP server ends no idle connection by itself; proxies and NAT in between end them within minutes.
  [[nodiscard]] Duration idle_keep_alive() const override { return std::chrono::seconds(60); }

  [[nodiscard]] Reading read(std::span<const std::string> bodies) const override {
    Reading reading;
    if (bodies.empty()) return reading;
    Report& report = reading.whole;
    const Series series(bodies[0], wanted, "");
    report.running = series.sum(running);
    report.waiting = series.sum(waiting);
    report.kv_used = tokens_of(series.sum(kv_used));
    report.kv_capacity = tokens_of(series.sum(kv_capacity));
    if (bodies.size() < 2) return reading;
    const Json info(bodies[1]);
    if (!info.root()) return reading;
    report.slots = slots_of(amount_member(*info.root(), "max_concurrent_requests"));  // above it answers 429
    if (!report.kv_capacity) report.kv_capacity = tokens_of(amount_member(*info.root(), "max_batch_total_tokens"));
    return reading;
  }
};

}  // namespace

const Adapter& tgi() {
  static const Tgi instance;
  return instance;
}

}  // namespace evenkeel::engines
