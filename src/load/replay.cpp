#include "load/replay.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "http/connection_pool.hpp"
#include "http/loop.hpp"
#include "load/attempt.hpp"
#include "load/request_maker.hpp"
#include "load/schedule.hpp"
#include "load/served_models.hpp"

namespace evenkeel::load {

namespace {

using http::Fiber;
using http::Task;
using workload::RequestIndex;

constexpr Duration progress_every = std::chrono::milliseconds(100);
constexpr std::size_t most_names = 4096;  // of workers, policies, refusals: they come from outside

/// One run: a fiber that starts what is due, and a fiber for every request in flight.
class Replayer {
 public:
  Replayer(const ReplayOptions& options, const workload::Trace& trace, const http::Address& to,
           const OnProgress& progress)
      : options_(options), trace_(trace), progress_(progress), schedule_(trace, options.concurrency), client_(to) {
    gathered_.records.resize(trace.requests.size());
  }

  Result<ReplayReport> run(const http::Url& url) {
    loop_.spawn(drive, this, &url);
    loop_.run(true);
    if (error_) return tl::unexpected(*error_);
    ReplayReport report = summarize(gathered_, {options_.slo_ttft_ms, options_.slo_tpot_ms});
    report.url = options_.url;
    report.label = !options_.label.empty() ? options_.label : !report.policy.empty() ? report.policy : options_.url;
    report.notes = trace_.notes;
    const auto& assumed = maker_->notes();
    report.notes.insert(report.notes.end(), assumed.begin(), assumed.end());
    compare_boxes(report);
    return report;
  }

 private:
  /// A run without receipts is not told that it has none, unless it was asked about boxes.
  void compare_boxes(ReplayReport& report) const {
    if (options_.boxes.empty() && report.workers.empty()) return;
    auto boxes = box_report(gathered_.records, gathered_.worker_names, options_.boxes);
    if (boxes) {
      report.boxes = std::move(*boxes);
    } else {
      report.notes.push_back("nothing is said of boxes: " + boxes.error().message);
    }
  }

  static Task<void> drive(Fiber& fiber, Replayer* self, const http::Url* url) {
    std::vector<std::string> served;
    if (self->options_.model.empty()) served = co_await served_models(fiber, self->client_.to, *url, self->options_);
    auto maker = RequestMaker::create(self->options_, *url, self->trace_, served);
    if (!maker) {
      self->error_ = maker.error();
      co_return;
    }
    self->maker_.emplace(std::move(*maker));
    self->driver_ = &fiber;
    self->start_ = fiber.loop().refresh_now();
    Time next_tell = self->start_;
    while (true) {
      self->start_due();
      if (fiber.loop().now() >= next_tell) {
        self->tell();
        next_tell = fiber.loop().now() + progress_every;
      }
      if (self->schedule_.finished()) break;
      const auto due = self->schedule_.next_due();
      fiber.set_deadline(due ? std::min(next_tell, self->start_ + *due) : next_tell);
      co_await fiber.wait();
    }
    fiber.clear_deadline();
    self->driver_ = nullptr;
    self->client_.pool.clear();
    self->tell();
  }

  void start_due() {
    const Duration now = loop_.now() - start_;
    while (const auto start = schedule_.start(now)) {
      RequestRecord& record = gathered_.records[start->place];
      record.due = start->due;
      record.held = start->held;
      record.trace_prompt = trace_.requests[start->place].prompt_tokens;
      record.trace_output = trace_.requests[start->place].output_tokens;
      loop_.spawn(exchange, this, start->place);
    }
    gathered_.most_in_flight = std::max<std::uint64_t>(gathered_.most_in_flight, schedule_.running());
  }

  static Task<void> exchange(Fiber& fiber, Replayer* self, RequestIndex place) {
    const http::ClientRequest request = self->maker_->make(place);
    Attempt attempt{self->client_, request, self->start_, self->options_.stream, self->gathered_.gaps_ms};
    attempt.record = &self->gathered_.records[place];
    fiber.set_deadline(fiber.loop().now() + self->options_.timeout);
    co_await run_attempt(fiber, attempt);
    fiber.clear_deadline();
    self->book(attempt);
    self->schedule_.ended(place, attempt.record->ended);
    self->driver_->wake();
  }

  void book(Attempt& attempt) {
    RequestRecord& record = *attempt.record;
    gathered_.reconnects += attempt.reconnected ? 1 : 0;
    if (record.ending != Ending::completed) {
      ++failed_;
      auto& example = gathered_.examples[static_cast<std::size_t>(record.ending)];
      if (example.empty()) example = std::move(attempt.trouble);
    }
    if (!attempt.receipt.worker.empty()) record.worker = worker_index(attempt.receipt.worker);
    count(gathered_.policies, attempt.receipt.policy);
    count(gathered_.refusals, attempt.receipt.refusal);
  }

  static void count(std::map<std::string, std::uint64_t>& counts, const std::string& name) {
    if (name.empty()) return;
    const auto at = counts.find(name);
    if (at != counts.end()) {
      ++at->second;
    } else {
      ++counts[counts.size() < most_names ? name : "(others)"];
    }
  }

  std::uint32_t worker_index(const std::string& name) {
    auto& names = gathered_.worker_names;
    const auto known = workers_.find(name);
    if (known != workers_.end()) return known->second;
    if (names.size() >= most_names) return no_worker;
    names.push_back(name);
    return workers_[name] = static_cast<std::uint32_t>(names.size() - 1);
  }

  void tell() {
    if (!progress_) return;
    progress_({schedule_.total(), schedule_.ended_count(), failed_, schedule_.running(), schedule_.waiting()});
  }

  const ReplayOptions& options_;
  const workload::Trace& trace_;
  const OnProgress& progress_;
  Schedule schedule_;
  Gathered gathered_;
  std::unordered_map<std::string, std::uint32_t> workers_;
  std::optional<RequestMaker> maker_;
  std::optional<Error> error_;
  std::uint64_t failed_ = 0;
  Time start_{};
  Fiber* driver_ = nullptr;
  http::EventLoop loop_;
  Client client_;  // after the loop: its connections close before the loop ends
};

}  // namespace

Result<ReplayReport> run_replay(const ReplayOptions& options, const workload::Trace& trace,
                                const OnProgress& progress) {
  if (auto fault = fault_of(options); !fault.empty()) return failure(std::move(fault));
  if (trace.requests.empty()) return failure("the trace holds no request");
  const auto url = http::parse_url(options.url);
  if (!url) return tl::unexpected(url.error());
  const auto to = http::resolve(url->host, url->port);
  if (!to) return tl::unexpected(to.error());
  Replayer replayer(options, trace, *to, progress);
  return replayer.run(*url);
}

}  // namespace evenkeel::load
