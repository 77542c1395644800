#include "routing/headroom.hpp"

#include <array>

#include "redline/sample.hpp"

namespace evenkeel::routing {

using redline::Resource;

namespace {
/// By the resource that was the scarcest where the request goes.
constexpr std::array<std::string_view, redline::all_resources.size()> reasons = {
    "most_kv_headroom", "most_slot_headroom", "most_prefill_headroom"};
}  // namespace

redline::Dominant Headroom::after(const fleet::WaitingView& request, const fleet::WorkerView& worker,
                                  std::uint32_t index) const {
  redline::Amounts capacity;
  redline::Amounts left;
  redline::Amounts demand;
  capacity[Resource::kv_memory] = worker.kv_capacity.as_double();
  left[Resource::kv_memory] = (worker.kv_capacity - worker.load.kv_tokens() - worker.foreign_tokens).as_double();
  const double output =
      options_.output_tokens > 0 ? static_cast<double>(options_.output_tokens) : worker.mean_output / 2;
  demand[Resource::kv_memory] = request.prompt_tokens.as_double() + output;
  capacity[Resource::slots] = static_cast<double>(worker.max_in_flight);
  left[Resource::slots] = static_cast<double>(worker.max_in_flight) - worker.requests();
  demand[Resource::slots] = 1;
  capacity[Resource::prefill] = static_cast<double>(options_.prefill_capacity);
  left[Resource::prefill] = static_cast<double>(options_.prefill_capacity - worker.load.queued_prompt.value());
  demand[Resource::prefill] = request.to_compute(index).as_double();
  return redline::dominant(capacity, left, demand);
}

PerRequestPolicy::Choice Headroom::choose(const fleet::WaitingView& request, std::span<const std::uint32_t> candidates,
                                          const fleet::FleetView& fleet, Random& random) {
  sampled_.assign(candidates.begin(), candidates.end());
  const std::size_t count =
      redline::draw_to_front(sampled_, options_.sample == 0 ? sampled_.size() : options_.sample, random);
  Smallest best;
  for (const std::uint32_t index : std::span(sampled_).first(count)) {
    best.offer(-after(request, fleet.workers[index], index).fraction, index, random);
  }
  const std::uint32_t chosen = *best.place();
  const auto resource = after(request, fleet.workers[chosen], chosen).resource;
  return {chosen, reasons[static_cast<std::size_t>(resource)], -best.value()};
}

}  // namespace evenkeel::routing
