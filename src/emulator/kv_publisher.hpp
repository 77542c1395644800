#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/options.hpp"
#include "engine/cache_observer.hpp"
#include "http/loop.hpp"

namespace evenkeel::emulator {

/// A prompt's beginning with its tokens, those of its answer behind: what events tell of blocks.
struct TokenPrefix final : engine::PromptPrefix {
  std::vector<std::uint32_t> tokens;
};

/// Publishes the KV-cache events of one engine as vLLM does: a PUB socket for each rank, on consecutive ports, one
/// numbered batch a step that had events; and a ROUTER socket for each that plays the last batches again. Prefixes of
/// requests must be TokenPrefixes. Loop thread only.
class KvPublisher {
 public:
  /// Error: the port that cannot be bound. The fiber that answers replays lives as long as the loop.
  [[nodiscard]] static Result<std::shared_ptr<KvPublisher>> open(http::EventLoop& loop, const EmulatorOptions& options,
                                                                 std::size_t replica);
  ~KvPublisher();

  [[nodiscard]] engine::CacheObserver* of_rank(std::size_t rank);
  /// A step has ended: what it brought is a batch.
  void flush();
  /// The next events of all ranks say that the cache was emptied.
  void note_cleared();
  /// As a new process: numbers from 0, nothing to replay.
  void restart();
  /// So many more batches of each rank are numbered and kept, but never published.
  void drop(std::int64_t batches);
  /// `silent`: batches wait, as behind a publisher that hangs. `no_replay`: requests for a replay are not answered.
  void set_faults(bool silent, bool no_replay);
  [[nodiscard]] std::optional<std::uint64_t> last_number(std::size_t rank) const;

 private:
  class Rank;
  KvPublisher();
  static http::Task<void> answer_replays(http::Fiber& fiber, std::shared_ptr<KvPublisher> self);

  struct Sockets;
  std::unique_ptr<Sockets> sockets_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace evenkeel::emulator
