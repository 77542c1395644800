#include "load/calibration_run.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "calibrate/level_meter.hpp"
#include "calibrate/prompts.hpp"
#include "calibrate/ramp.hpp"
#include "fleet/foreign_load.hpp"
#include "http/loop.hpp"
#include "load/attempt.hpp"
#include "load/engine_watch.hpp"

namespace evenkeel::load {

namespace {

using http::Fiber;
using http::Task;

constexpr Duration look_every = std::chrono::milliseconds(500);
/// A gauge may lag so much behind the end of the last request.
constexpr Duration settles = std::chrono::milliseconds(300);
/// Longer than a token takes where there is a slot; where there is none, others are at work.
constexpr Duration nudge_patience = std::chrono::seconds(2);
/// Prompt tokens beyond ours that are no requests of others: health checks that generate, a template counted otherwise.
constexpr double stray_tokens = 64;
constexpr double stray_share = 0.02;

/// One run: a fiber that leads, one that looks whether others use the engine, and one for every stream of a level.
class Calibrator {
 public:
  Calibrator(const CalibrationTarget& target, const calibrate::Options& options, std::uint64_t run,
             const OnCalibration& progress)
      : target_(target),
        options_(options),
        progress_(progress),
        prompts_(run),
        ramp_(options.schedule, options.ttft_bound_s, options.min_relative_gain),
        watch_(target.headers) {}

  Result<calibrate::Calibration> run() {
    loop_.spawn(lead, this);
    loop_.run(true);
    if (fault_) return tl::unexpected(*fault_);
    result_.knee = ramp_.knee();
    result_.options = options_;
    result_.samples.assign(ramp_.samples().begin(), ramp_.samples().end());
    if (!tells_load_)
      result_.notes.emplace_back("the engine tells no load: requests of others would not have been seen");
    if (counted_by_events_) result_.notes.emplace_back("the engine tells no usage: each event counts as one token");
    return std::move(result_);
  }

 private:
  static Task<void> lead(Fiber& fiber, Calibrator* self) {
    self->leader_ = &fiber;
    co_await self->prepare(fiber);
    if (!self->fault_) {
      Fiber& looker = self->loop_.spawn(look, self);
      while (!self->fault_) {
        const auto level = self->ramp_.next();
        if (!level) break;
        co_await self->measure(fiber, *level);
      }
      self->done_ = true;
      looker.wake();
      while (self->looking_) co_await fiber.wait();
    }
    if (self->client_) self->client_->pool.clear();
  }

  /// Finds the engine, and sees that nobody else has requests in it.
  Task<void> prepare(Fiber& fiber) {
    result_.url = target_.url;
    if (!target_.router.empty()) {
      router_ = http::parse_url(target_.router).value();
      const auto at = http::resolve(router_.host, router_.port);
      if (!at) co_return fail("--router: " + at.error().message);
      router_address_ = *at;
      const auto view = co_await EngineWatch::ask_router(fiber, router_, router_address_, target_.worker);
      if (!view) co_return fail(view.error().message);
      if (result_.url.empty()) result_.url = view->url;
    }
    const auto url = http::parse_url(result_.url);
    if (!url) co_return fail(url.error().message);
    const auto address = http::resolve(url->host, url->port);
    if (!address) co_return fail(address.error().message);
    watch_.look_at(*url, *address);
    url_ = *url;
    client_.emplace(*address);
    auto measured = co_await watch_.identify(fiber, target_.model);
    if (!measured) co_return fail(measured.error().message);
    result_.measured = std::move(*measured);
    co_await look_for_others(fiber);
    if (busy_looks_ == 0) co_return;
    co_await nudge(fiber);
    co_await sleep(fiber, look_every);  // what has just ended may still be shown
    co_await look_for_others(fiber);
  }

  /// Gauges that are written at the engine's steps stand still once all that ran was given up: one token makes it step.
  Task<void> nudge(Fiber& fiber) {
    const http::ClientRequest request = make_request(1);
    const Time began = loop_.refresh_now();
    RequestRecord record;
    Attempt attempt{*client_, request, began, true, gaps_ms_};
    attempt.record = &record;
    foreign_.began(began);
    fiber.set_deadline(began + nudge_patience);
    co_await run_attempt(fiber, attempt);
    fiber.clear_deadline();
    foreign_.ended(began, loop_.now());
    prompt_tokens_ += record.prompt.as_double();
  }

  // --- one level ---

  Task<void> measure(Fiber& fiber, std::int64_t level) {
    meter_.emplace(level);
    streams_.assign(static_cast<std::size_t>(level), nullptr);
    running_ = level;
    tell();
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) loop_.spawn(send_on, this, stream);
    while (running_ > 0) co_await fiber.wait();
    if (fault_) co_return;
    co_await compare_counters(fiber);
    if (!fault_) ramp_.measured(meter_->sample());
  }

  static Task<void> send_on(Fiber& fiber, Calibrator* self, std::size_t stream) {
    self->streams_[stream] = &fiber;
    bool more = !self->fault_;
    while (more) more = co_await self->send_one(fiber, stream);
    self->streams_[stream] = nullptr;
    if (--self->running_ == 0) self->leader_->wake();
  }

  /// Whether the stream goes on.
  Task<bool> send_one(Fiber& fiber, std::size_t stream) {
    const http::ClientRequest request = make_request(options_.max_tokens);
    const Time began = loop_.refresh_now();
    RequestRecord record;
    std::int64_t seen = 0;
    Attempt attempt{*client_, request, began, true, gaps_ms_};
    attempt.record = &record;
    attempt.on_content = [this, stream, &seen](std::int64_t events) {
      meter_->content(stream, loop_.now(), events - seen);
      seen = events;
    };
    meter_->began(stream, began);
    foreign_.began(began);
    fiber.set_deadline(began + from_seconds(options_.timeout_s));
    co_await run_attempt(fiber, attempt);
    fiber.clear_deadline();
    foreign_.ended(began, loop_.now());
    if (fault_) co_return false;
    const bool more = book(stream, attempt);
    tell();
    co_return more;
  }

  bool book(std::size_t stream, const Attempt& attempt) {
    const RequestRecord& record = *attempt.record;
    const std::size_t level = streams_.size();
    if (record.ending != Ending::completed) {
      fail(fmt::format("level {}: a request was not answered whole ({}): {}", level, name(record.ending),
                       attempt.trouble));
      return false;
    }
    if (!attempt.receipt.worker.empty()) {
      fail(fmt::format("an answer came by way of a router, from its worker \"{}\": give the url of the engine itself",
                       attempt.receipt.worker));
      return false;
    }
    if (record.output.value() <= 0 || !record.first_content) {
      fail(fmt::format("level {}: an answer had no output", level));
      return false;
    }
    const bool usage = record.counted_by == CountedBy::usage;
    counted_by_events_ = counted_by_events_ || !usage;
    prompt_tokens_ += record.prompt.as_double();
    prompts_counted_ = prompts_counted_ && record.prompt.value() > 0;
    return meter_->ended(stream, loop_.now(), usage ? std::optional(record.output.value()) : std::nullopt);
  }

  http::ClientRequest make_request(std::int64_t max_tokens) {
    http::ClientRequest request;
    request.method = "POST";
    request.path = url_.base_path + "/v1/chat/completions";
    request.host = url_.authority();
    request.fields = target_.headers;
    request.fields.emplace_back("Content-Type", "application/json");
    request.body = R"({"model":)";
    append_json_string(request.body, result_.measured.served_id);
    request.body += R"(,"messages":[{"role":"user","content":)";
    append_json_string(request.body, prompts_.next());
    request.body +=
        fmt::format(R"(}}],"stream":true,"stream_options":{{"include_usage":true}},"max_tokens":{})", max_tokens);
    const bool knows = watch_.kind() == engines::Kind::vllm || watch_.kind() == engines::Kind::sglang ||
                       watch_.kind() == engines::Kind::llama_cpp;
    request.body += knows ? R"(,"ignore_eos":true})" : "}";
    return request;
  }

  // --- others ---

  static Task<void> look(Fiber& fiber, Calibrator* self) {
    self->looking_ = true;
    while (!self->done_ && !self->fault_) {
      co_await self->look_for_others(fiber);
      const Time next = fiber.loop().now() + look_every;
      fiber.set_deadline(next);
      while (!self->done_ && !self->fault_ && fiber.loop().now() < next) co_await fiber.wait();
      fiber.clear_deadline();
    }
    self->looking_ = false;
    self->leader_->wake();
  }

  /// Seen once it may be a health check that generates; seen twice in a row somebody else is at work.
  Task<void> look_for_others(Fiber& fiber) {
    const Time asked = fiber.loop().now();
    const engines::Report report = co_await watch_.report(fiber);
    std::string seen;
    if (report.running || report.waiting) {
      tells_load_ = true;
      const double shown = report.running.value_or(0) + report.waiting.value_or(0);
      const double others = foreign_.foreign(shown, asked);
      if (others > 0.5) {
        seen = fmt::format("the engine has {:.0f} requests running and {:.0f} waiting, {:.0f} more than ours",
                           report.running.value_or(0), report.waiting.value_or(0), others);
      }
    }
    if (!counter_ && report.prompt_total) counter_ = report.prompt_total;
    if (seen.empty() && !target_.router.empty()) {
      const auto view = co_await EngineWatch::ask_router(fiber, router_, router_address_, target_.worker);
      if (!view) co_return fail(view.error().message);
      if (view->in_flight > 0) {
        seen = fmt::format("the router has {} requests there; drain the worker first (POST /workers/{}/drain)",
                           view->in_flight, target_.worker);
      }
    }
    busy_looks_ = seen.empty() ? 0 : busy_looks_ + 1;
    if (busy_looks_ == 2) fail("others use the engine: " + seen);
  }

  /// Short requests may come and go between two looks; the engine's count of prompt tokens has them all.
  Task<void> compare_counters(Fiber& fiber) {
    co_await sleep(fiber, settles);
    const engines::Report report = co_await watch_.report(fiber);
    const double ours = std::exchange(prompt_tokens_, 0);
    const std::optional<double> before = std::exchange(counter_, report.prompt_total);
    if (!before || !report.prompt_total || !prompts_counted_) co_return;
    const double counted = *report.prompt_total - *before;
    if (counted < 0) co_return fail("the engine was started anew while it was measured");
    if (counted - ours <= std::max(stray_tokens, stray_share * ours)) co_return;
    fail(fmt::format("others use the engine: at level {} it took in {:.0f} prompt tokens, and {:.0f} of them were ours",
                     streams_.size(), counted, ours));
  }

  static Task<void> sleep(Fiber& fiber, Duration time) {
    co_await fiber.sleep_until(fiber.loop().now() + time);
    fiber.clear_deadline();
  }

  /// The first one counts. Every stream gives its request up.
  void fail(std::string words) {
    if (fault_) return;
    fault_ = Error{std::move(words)};
    for (Fiber* stream : streams_) {
      if (stream == nullptr) continue;
      stream->set_deadline(loop_.now());
      stream->wake();
    }
  }

  void tell() {
    if (progress_) progress_({static_cast<std::int64_t>(streams_.size()), meter_->requests(), meter_->wanted()});
  }

  const CalibrationTarget& target_;
  const calibrate::Options& options_;
  const OnCalibration& progress_;
  calibrate::Prompts prompts_;
  calibrate::Ramp ramp_;
  fleet::ForeignLoad foreign_{settles, std::chrono::minutes(1)};
  calibrate::Calibration result_;
  std::optional<Error> fault_;
  maths::Histogram gaps_ms_{0.005, 1e-3, 1e8};

  http::Url url_;
  http::Url router_;
  http::Address router_address_;
  EngineWatch watch_;
  std::optional<calibrate::LevelMeter> meter_;
  std::vector<Fiber*> streams_;  ///< null where it has ended
  std::int64_t running_ = 0;
  Fiber* leader_ = nullptr;
  bool looking_ = false;
  bool done_ = false;
  int busy_looks_ = 0;  ///< in a row
  bool tells_load_ = false;
  bool counted_by_events_ = false;
  bool prompts_counted_ = true;    ///< usage told of every prompt
  double prompt_tokens_ = 0;       ///< of the level
  std::optional<double> counter_;  ///< the engine's, before it

  http::EventLoop loop_;
  std::optional<Client> client_;  // after the loop: its connections close before the loop ends
};

}  // namespace

Result<calibrate::Calibration> run_calibration(const CalibrationTarget& target, const calibrate::Options& options,
                                               std::uint64_t run, const OnCalibration& progress) {
  Calibrator calibrator(target, options, run, progress);
  return calibrator.run();
}

}  // namespace evenkeel::load
