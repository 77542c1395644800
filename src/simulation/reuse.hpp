#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "affinity/block_chain.hpp"
#include "engine/events.hpp"
#include "simulation/setting.hpp"

namespace evenkeel::simulation {

/// The beginning of a prompt, as the engine hashes it and as the router does.
struct Prefixes {
  std::shared_ptr<const engine::PromptPrefix> at_engine;
  std::shared_ptr<const affinity::PromptChain> at_router;
};
/// Of a request that shares a beginning with others, else none.
[[nodiscard]] Prefixes prefixes_of(const Request& request, const Lengths& lengths);

/// Tokens a block of the router's chains.
[[nodiscard]] std::int64_t chain_block_tokens(const Lengths& lengths);

/// One prefix cache for the whole fleet that sees every request the moment it is released and keeps what was longest
/// unused last: what no router over separate caches of the same total size can expect to pass by much.
class OneCache {
 public:
  /// In prefix blocks; 0: without end.
  explicit OneCache(std::size_t blocks) : blocks_(blocks) {}
  /// Tokens of such a prompt that it holds, in whole KV blocks and without the last token. Takes in what it did not
  /// hold.
  [[nodiscard]] std::int64_t hit(const engine::PromptPrefix& prefix, std::int64_t prompt, std::int64_t kv_block);

 private:
  std::size_t blocks_;
  std::list<std::uint64_t> newest_first_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> held_;
};

/// Prompt tokens, and how many of them were found or would have been.
struct ReuseCount {
  std::int64_t prompt = 0;
  std::int64_t found = 0;
  std::int64_t one_cache = 0;
  std::int64_t endless_cache = 0;
};

/// What was reused and waited for at one worker.
struct WorkerUse {
  std::uint64_t requests = 0;
  std::uint64_t hot_requests = 0;  ///< with the first of SharedPrefixes
  double hit_rate = 0;             ///< tokens found over prompt tokens
  double wait_p50_s = 0;           ///< release to admission
};

/// Gathers it within the window measured.
class ReuseMeter {
 public:
  explicit ReuseMeter(std::size_t workers) : workers_(workers) {}
  void admitted(std::size_t worker, Duration waited, bool hot, const ReuseCount& count);
  [[nodiscard]] const ReuseCount& total() const { return total_; }
  [[nodiscard]] std::vector<WorkerUse> by_worker();

 private:
  struct Worker {
    std::vector<double> waits_s;
    std::uint64_t hot = 0;
    ReuseCount count;
  };
  std::vector<Worker> workers_;
  ReuseCount total_;
};

}  // namespace evenkeel::simulation
