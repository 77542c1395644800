#pragma once

#include <deque>
#include <vector>

#include "dispatch/tape.hpp"
#include "fleet/books.hpp"
#include "fleet/view.hpp"

namespace evenkeel::dispatch {

/// The open leases of one worker with their ages, for policies that forecast. Guarded by the dispatcher's lock; only
/// the ages are written from other threads. The places never move, so that leases may write to them.
class RunningSet {
 public:
  /// The lease must be freshly made; its end is to be told by remove().
  void add(fleet::Lease& lease, ModelId model, std::uint64_t prompt_key);
  void remove(std::uint32_t place);
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  void append_to(std::vector<fleet::RunningView>& views, const BooksReader& books) const;

 private:
  struct Place {
    RequestId id;
    Tokens prompt_tokens;
    ModelId model;
    std::uint64_t prompt_key = 0;
    std::size_t at = 0;  ///< in order_
    fleet::LeaseProgress generated{0};
  };
  std::deque<Place> places_;
  std::vector<std::uint32_t> vacant_;
  std::vector<std::uint32_t> order_;  ///< places in use; the last fills the gap of one that goes
};

}  // namespace evenkeel::dispatch
