#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "affinity/prefix_index.hpp"
#include "dispatch/submission.hpp"
#include "fleet/view.hpp"

namespace evenkeel::dispatch {

/// What is known of a worker's prefix cache.
struct PrefixStatus {
  std::size_t blocks = 0;       ///< held, as far as is known
  std::size_t capacity = 0;     ///< that are kept account of; 0: of none
  double block_tokens = 0;      ///< of what was placed there lately, a mean over some 64 prompts; 0: nothing was
  std::uint64_t forgotten = 0;  ///< times that all of it was forgotten
};

/// What the dispatcher knows of prefix caches, and how it shows it to a policy. Guarded by the dispatcher's lock. While
/// no worker has a prefix cache that is kept account of, all of it is free of cost.
class PrefixHits {
 public:
  PrefixHits(affinity::PrefixIndexOptions options, bool wanted) : index_(options), wanted_(wanted) {}

  void set_cache(WorkerId worker, std::size_t blocks);
  void forget(WorkerId worker);
  void placed(WorkerId worker, const Submission& what, Time now);
  [[nodiscard]] PrefixStatus status(WorkerId worker) const;
  [[nodiscard]] std::size_t memory_bytes() const { return index_.memory_bytes(); }
  void expire(Time now) {
    if (on()) index_.expire(now);
  }
  /// A request comes: from the first one on of which a worker told, views are shown though no cache is known.
  void see(const Submission& what) { told_ = told_ || what.told_hits != nullptr; }
  /// How many blocks each worker holds, by id. Empty if that is not known.
  void look_up(const Submission& what, std::vector<std::uint32_t>& held) const;

  /// Views of requests for these workers follow.
  void begin_view(std::span<const fleet::WorkerView> workers);
  /// Of one request alone, looked up now.
  [[nodiscard]] std::span<const Tokens> view_now(const Submission& what);
  /// Of one more, from `held`, which is looked up first if `anew`.
  void add_view(const Submission& what, std::vector<std::uint32_t>& held, bool anew);
  /// Of the i-th that was added. Once all are.
  [[nodiscard]] std::span<const Tokens> view(std::size_t i) const;

 private:
  [[nodiscard]] bool on() const { return workers_ > 0 || (wanted_ && told_); }

  affinity::PrefixIndex index_;
  const bool wanted_;  ///< by the policy; whoever sets a cache knows that by himself
  bool told_ = false;
  std::size_t workers_ = 0;  ///< ids that are looked up: one more than the largest that has a cache
  struct Noted {
    double block_tokens = 0;
    std::uint64_t forgotten = 0;
  };
  std::vector<Noted> noted_;  ///< by worker, as of PrefixStatus
  std::span<const fleet::WorkerView> view_of_;
  std::vector<Tokens> hits_;         ///< of all views, one behind another
  std::vector<std::uint32_t> held_;  ///< scratch
};

}  // namespace evenkeel::dispatch
