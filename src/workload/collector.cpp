#include "workload/collector.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace evenkeel::workload {

namespace {

constexpr double longest_s = 9e9;  // what a Duration holds, rounded down

Duration scaled(Duration d, double time_scale) {
  if (time_scale == 1) return d;
  return from_seconds(std::min(to_seconds(d) / time_scale, longest_s));
}

}  // namespace

Collector::Collector(const Slice& slice, bool linked)
    : slice_(slice),
      from_(from_seconds(slice.from_s)),
      to_(slice.to_s < longest_s ? from_seconds(slice.to_s) : Duration::max()),
      linked_(linked) {}

bool Collector::wanted(const TraceRequest& r) const {
  return r.arrival >= from_ && r.arrival < to_ && r.prompt_tokens.value() >= slice_.prompt_from &&
         r.prompt_tokens.value() <= slice_.prompt_to && r.output_tokens.value() >= slice_.output_from &&
         r.output_tokens.value() <= slice_.output_to;
}

void Collector::add(TraceRequest request) {
  const Fate before = request.after == no_index ? Fate{no_index, {}} : fates_[request.after];
  const Duration think = request.think + before.extra_think;
  if (!wanted(request)) {
    // Who waited for this one waits for its forerunner instead, and thinks for both.
    if (linked_) fates_.push_back(before.kept == no_index ? Fate{no_index, {}} : Fate{before.kept, think});
    return;
  }
  request.after = before.kept;
  request.think = request.after == no_index ? Duration{} : think;
  if (linked_) fates_.push_back(Fate{static_cast<RequestIndex>(trace_.requests.size()), {}});
  if (trace_.requests.size() < slice_.max_requests) latest_kept_ = std::max(latest_kept_, request.arrival);
  trace_.requests.push_back(request);
}

bool Collector::past_end(Duration at, Duration slack) const {
  const Duration certain = at - slack;
  return certain >= to_ || (trace_.requests.size() >= slice_.max_requests && certain > latest_kept_);
}

void Collector::sort_by_arrival() {
  auto& requests = trace_.requests;
  const auto earlier = [&](const TraceRequest& a, const TraceRequest& b) { return a.arrival < b.arrival; };
  if (std::is_sorted(requests.begin(), requests.end(), earlier)) return;
  if (!linked_) {
    std::stable_sort(requests.begin(), requests.end(), earlier);
    return;
  }
  std::vector<RequestIndex> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](RequestIndex a, RequestIndex b) { return earlier(requests[a], requests[b]); });
  std::vector<RequestIndex> new_place(requests.size());
  for (RequestIndex i = 0; i < order.size(); ++i) new_place[order[i]] = i;
  std::vector<TraceRequest> sorted;
  sorted.reserve(requests.size());
  for (const auto old : order) {
    sorted.push_back(requests[old]);
    if (sorted.back().after != no_index) sorted.back().after = new_place[sorted.back().after];
  }
  requests = std::move(sorted);
}

Trace Collector::finish() {
  sort_by_arrival();
  auto& requests = trace_.requests;
  if (requests.size() > slice_.max_requests) requests.resize(slice_.max_requests);
  for (auto& r : requests) {
    r.arrival = scaled(r.arrival - from_, slice_.time_scale);
    r.think = scaled(r.think, slice_.time_scale);
    r.prompt_tokens = Tokens(std::min(r.prompt_tokens.value(), slice_.cap_prompt));
    r.output_tokens = Tokens(std::min(r.output_tokens.value(), slice_.cap_output));
  }
  fates_.clear();
  return std::exchange(trace_, Trace{});
}

}  // namespace evenkeel::workload
