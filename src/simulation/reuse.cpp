#include "simulation/reuse.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace evenkeel::simulation {

namespace {

constexpr std::int64_t shared_block_tokens = 64;

std::vector<std::uint64_t> ids_of(const Request& request, const Lengths& lengths) {
  if (request.place != workload::no_index) return lengths.trace->prefix_blocks(lengths.trace->requests[request.place]);
  std::vector<std::uint64_t> ids;
  if (!lengths.shared) return ids;
  for (std::int64_t i = 0; i < lengths.shared->tokens / shared_block_tokens; ++i) ids.push_back(request.shared);
  return ids;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::int64_t chain_block_tokens(const Lengths& lengths) {
  if (!lengths.trace) return shared_block_tokens;
  for (const auto& request : lengths.trace->requests) {
    if (request.prefix_block_size > 0) return request.prefix_block_size;
  }
  return shared_block_tokens;
}

Prefixes prefixes_of(const Request& request, const Lengths& lengths) {
  const auto ids = ids_of(request, lengths);
  if (ids.empty()) return {};
  auto at_engine = std::make_shared<engine::PromptPrefix>();
  at_engine->block_tokens = request.place == workload::no_index
                                ? shared_block_tokens
                                : std::int64_t{lengths.trace->requests[request.place].prefix_block_size};
  at_engine->chain.reserve(ids.size());
  std::uint64_t hash = 0;
  for (const std::uint64_t id : ids) at_engine->chain.push_back(hash = mix64(mix64(hash) + id));
  auto at_router = std::make_shared<affinity::PromptChain>();
  affinity::append_id_chain(ids, 1, at_router->links);
  at_router->block_tokens = static_cast<double>(at_engine->block_tokens);
  return {std::move(at_engine), std::move(at_router)};
}

std::int64_t OneCache::hit(const engine::PromptPrefix& prefix, std::int64_t prompt, std::int64_t kv_block) {
  std::size_t found = 0;
  while (found < prefix.chain.size() && held_.contains(prefix.chain[found])) ++found;
  // From the end, so that the beginning is the newest.
  for (std::size_t i = prefix.chain.size(); i-- > 0;) {
    const auto [place, is_new] = held_.try_emplace(prefix.chain[i]);
    if (is_new) {
      newest_first_.push_front(prefix.chain[i]);
      place->second = newest_first_.begin();
    } else {
      newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
    }
  }
  while (blocks_ > 0 && held_.size() > blocks_) {
    held_.erase(newest_first_.back());
    newest_first_.pop_back();
  }
  const std::int64_t tokens = std::min(static_cast<std::int64_t>(found) * prefix.block_tokens, prompt - 1);
  return tokens / kv_block * kv_block;
}

void ReuseMeter::admitted(std::size_t worker, Duration waited, bool hot, const ReuseCount& count) {
  Worker& at = workers_[worker];
  at.waits_s.push_back(to_seconds(waited));
  at.hot += hot ? 1 : 0;
  for (ReuseCount* sum : {&at.count, &total_}) {
    sum->prompt += count.prompt;
    sum->found += count.found;
    sum->one_cache += count.one_cache;
    sum->endless_cache += count.endless_cache;
  }
}

std::vector<WorkerUse> ReuseMeter::by_worker() {
  std::vector<WorkerUse> all;
  for (Worker& worker : workers_) {
    WorkerUse& use = all.emplace_back();
    use.requests = worker.waits_s.size();
    use.hot_requests = worker.hot;
    use.hit_rate = share(worker.count.found, worker.count.prompt);
    if (worker.waits_s.empty()) continue;
    const auto middle = worker.waits_s.begin() + static_cast<std::ptrdiff_t>((worker.waits_s.size() - 1) / 2);
    std::nth_element(worker.waits_s.begin(), middle, worker.waits_s.end());
    use.wait_p50_s = *middle;
  }
  return all;
}

}  // namespace evenkeel::simulation
