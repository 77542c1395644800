#include "dispatch/prefix_hits.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::dispatch {

void PrefixHits::set_cache(WorkerId worker, std::size_t blocks) {
  if (blocks == 0 && index_.capacity(worker) == 0) return;
  index_.set_capacity(worker, blocks);
  if (blocks > 0) workers_ = std::max(workers_, std::size_t{worker.value} + 1);
  noted_.resize(workers_);
}

void PrefixHits::forget(WorkerId worker) {
  index_.forget(worker);
  if (worker.value < noted_.size()) ++noted_[worker.value].forgotten;
}

void PrefixHits::placed(WorkerId worker, const Submission& what, Time now) {
  if (!on() || !what.prefix) return;
  index_.insert(worker, what.prefix->links, now);
  if (worker.value >= noted_.size()) return;
  double& mean = noted_[worker.value].block_tokens;
  mean += (what.prefix->block_tokens - mean) / (mean == 0 ? 1 : 64);
}

PrefixStatus PrefixHits::status(WorkerId worker) const {
  const Noted noted = worker.value < noted_.size() ? noted_[worker.value] : Noted{};
  return {index_.blocks(worker), index_.capacity(worker), noted.block_tokens, noted.forgotten};
}

void PrefixHits::look_up(const Submission& what, std::vector<std::uint32_t>& held) const {
  held.clear();
  if (!on() || !what.prefix) return;
  held.resize(workers_);
  index_.expected_hit(what.prefix->links, held);
}

void PrefixHits::begin_view(std::span<const fleet::WorkerView> workers) {
  view_of_ = workers;
  hits_.clear();
}

std::span<const Tokens> PrefixHits::view_now(const Submission& what) {
  if (!on()) return {};
  add_view(what, held_, true);
  return view(0);
}

void PrefixHits::add_view(const Submission& what, std::vector<std::uint32_t>& held, bool anew) {
  if (!on()) return;
  if (anew) look_up(what, held);
  // The last token is always computed.
  const std::int64_t most = std::max<std::int64_t>(0, what.prompt_tokens.value() - 1);
  for (const fleet::WorkerView& worker : view_of_) {
    const double blocks = worker.id.value < held.size() ? held[worker.id.value] : 0;
    const double tokens = blocks > 0 ? std::floor(blocks * what.prefix->block_tokens) : 0;
    hits_.push_back(Tokens(static_cast<std::int64_t>(std::min(tokens, static_cast<double>(most)))));
  }
  if (!what.told_hits) return;
  const std::span<Tokens> row = std::span(hits_).last(view_of_.size());
  for (const auto& [worker, tokens] : *what.told_hits) {
    const auto at = std::find_if(view_of_.begin(), view_of_.end(),
                                 [id = worker](const fleet::WorkerView& view) { return view.id == id; });
    if (at != view_of_.end()) row[static_cast<std::size_t>(at - view_of_.begin())] = std::min(tokens, Tokens(most));
  }
}

std::span<const Tokens> PrefixHits::view(std::size_t i) const {
  if (!on()) return {};
  return std::span(hits_).subspan(i * view_of_.size(), view_of_.size());
}

}  // namespace evenkeel::dispatch
