#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "dispatch/submission.hpp"

namespace evenkeel::dispatch {

/// One waiting request.
struct Waiting {
  RequestId id;
  Submission submission;
  std::shared_ptr<Waiter> waiter;
  Time arrived{};
  Time deadline{};
  Time next_check{};   ///< when its state is looked at next: deadline, or how long it may find no worker
  double start_tag = 0;
  int overtaken = 0;
  bool capped = false; ///< overtaken as often as may be: goes before all others
};

/// The requests of one model that wait, in the order they should enter: capped ones by arrival, then by priority
/// (lower first), then fair between clients by start-time fair queueing (Goyal, Vin and Cheng 1996; a request's
/// cost is its expected tokens), then by arrival. Not thread-safe; knows no worker.
class WaitingPool {
 public:
  /// `overtake_cap` 0 = none.
  explicit WaitingPool(int overtake_cap) : overtake_cap_(overtake_cap) {}

  Waiting& add(Waiting waiting, double cost);
  /// Takes the request out, or gives nothing if it is not here.
  [[nodiscard]] std::unique_ptr<Waiting> remove(RequestId id);
  /// As remove(), and every request that arrived earlier, is no less urgent and was `eligible` for the same place
  /// counts as overtaken once more.
  template <class Eligible>
  [[nodiscard]] std::unique_ptr<Waiting> enter(RequestId id, Eligible eligible) {
    auto entered = remove(id);
    virtual_time_ = std::max(virtual_time_, entered->start_tag);
    if (overtake_cap_ > 0) {
      for (auto& [earlier, waiting] : by_arrival_) {
        if (earlier >= id) break;
        if (waiting->submission.priority <= entered->submission.priority && eligible(*waiting)) overtake(*waiting);
      }
    }
    if (by_arrival_.empty()) forget_clients();
    return entered;
  }

  /// Calls visit(Waiting&) in order until it returns false.
  template <class Visit>
  void in_order(Visit visit) {
    for (const auto& key : order_) {
      if (!visit(*by_arrival_.at(std::get<RequestId>(key)))) return;
    }
  }
  /// Calls visit(Waiting&) for those whose next_check has come; it may change next_check through recheck().
  [[nodiscard]] std::vector<RequestId> due(Time now) const;
  void recheck(RequestId id, Time when);
  [[nodiscard]] Waiting* find(RequestId id);

  [[nodiscard]] std::size_t size() const { return by_arrival_.size(); }
  [[nodiscard]] bool empty() const { return by_arrival_.empty(); }
  [[nodiscard]] Time next_check() const { return checks_.empty() ? Time::max() : checks_.begin()->first; }
  [[nodiscard]] Time oldest_arrival() const { return by_arrival_.begin()->second->arrived; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  using Key = std::tuple<bool, std::int64_t, double, RequestId>;
  static Key key_of(const Waiting& waiting);
  void overtake(Waiting& waiting);
  void forget_clients();

  int overtake_cap_;
  double virtual_time_ = 0;
  Bytes bytes_;
  std::map<RequestId, std::unique_ptr<Waiting>> by_arrival_;
  std::set<Key> order_;
  std::set<std::pair<Time, RequestId>> checks_;
  std::unordered_map<ClientKey, double> finish_tags_;  // of clients with something waiting since the pool was last empty
};

}  // namespace evenkeel::dispatch
