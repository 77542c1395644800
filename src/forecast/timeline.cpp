#include "forecast/timeline.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::uint64_t ends_between_looks = 16;

struct Event {
  Time at;
  bool question = false;  ///< else the end
  std::size_t index = 0;
  std::int64_t age = 0;
  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.at, a.question, a.index) > std::tie(b.at, b.question, b.index);
  }
};

class Timeline {
 public:
  Timeline(std::span<const PastRequest> requests, const TimelineOptions& options, TimelineObserver& observer)
      : requests_(requests), options_(options), observer_(observer), place_(requests.size()) {}

  void run() {
    look(Time{});
    for (std::size_t index = 0; index < requests_.size(); ++index) {
      if (requests_[index].output < 1) continue;
      const Time begin(requests_[index].arrival);
      while (!events_.empty() && !(events_.top() > Event{begin, true, index, 0})) take();
      place_[index] = in_service_.size();
      in_service_.push_back(index);
      events_.push({begin, true, index, 0});
      events_.push({begin + options_.per_token * length(index), false, index, length(index)});
    }
    while (!events_.empty()) take();
  }

 private:
  [[nodiscard]] std::int64_t length(std::size_t index) const {
    return std::min(requests_[index].output, LengthGrid::longest);
  }
  [[nodiscard]] fleet::RunningView view(std::size_t index, std::int64_t age) const {
    return {RequestId{index + 1}, Tokens(requests_[index].prompt), age, requests_[index].key};
  }

  void take() {
    const Event event = events_.top();
    events_.pop();
    if (event.question) {
      ask(event);
    } else {
      end(event);
    }
  }

  void ask(const Event& event) {
    observer_.asked(event.index, view(event.index, event.age), length(event.index), event.at);
    const std::int64_t next = event.age + options_.every;
    if (next >= length(event.index)) return;
    events_.push({event.at + options_.per_token * options_.every, true, event.index, next});
  }

  void end(const Event& event) {
    const std::size_t last = in_service_.back();
    in_service_[place_[event.index]] = last;
    place_[last] = place_[event.index];
    in_service_.pop_back();
    fleet::LeaseSummary summary;
    summary.request = RequestId{event.index + 1};
    summary.outcome = fleet::Outcome::completed;
    summary.prompt_tokens = Tokens(requests_[event.index].prompt);
    summary.output_tokens = Tokens(event.age);
    summary.had_output = true;
    summary.held = options_.per_token * event.age;
    summary.prompt_key = requests_[event.index].key;
    observer_.finished(summary, event.at);
    if (++ends_ % ends_between_looks == 0) look(event.at);
  }

  void look(Time now) {
    running_.clear();
    for (const std::size_t index : in_service_) {
      running_.push_back(view(index, (now - Time(requests_[index].arrival)) / options_.per_token));
    }
    fleet::WorkerView worker;
    worker.running = running_;
    fleet::FleetView fleet;
    fleet.workers = {&worker, 1};
    observer_.running(fleet, now);
  }

  std::span<const PastRequest> requests_;
  const TimelineOptions& options_;
  TimelineObserver& observer_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::size_t> in_service_;
  std::vector<std::size_t> place_;  ///< of each request in in_service_
  std::vector<fleet::RunningView> running_;
  std::uint64_t ends_ = 0;
};

}  // namespace

std::string fault_of(const TimelineOptions& options) {
  if (options.every < 1 || options.every > LengthGrid::longest) {
    return fmt::format("every is {}; allowed: 1 to {} tokens", options.every, LengthGrid::longest);
  }
  constexpr Duration longest = std::chrono::seconds(10);
  if (options.per_token < std::chrono::microseconds(1) || options.per_token > longest) {
    return fmt::format("token-ms is {}; allowed: 0.001 to 10000 ms", to_millis(options.per_token));
  }
  return {};
}

void run_timeline(std::span<const PastRequest> requests, const TimelineOptions& options, TimelineObserver& observer) {
  Timeline(requests, options, observer).run();
}

Time time_of_split(std::span<const PastRequest> requests, double share) {
  if (requests.empty()) return Time{};
  const auto first_held_out = static_cast<std::size_t>(share * static_cast<double>(requests.size()));
  return Time(requests[std::min(first_held_out, requests.size() - 1)].arrival);
}

}  // namespace evenkeel::forecast
