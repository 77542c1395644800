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
  Time no_worker_since = Time::max();  ///< since when no worker could take it; max = one can
  Time next_check{};  ///< when it is turned away if nothing changes: deadline, or end of patience with no worker
  double start_tag = 0;
  double finish_tag = 0;
  std::size_t found_waiting = 0;  ///< how many stood before it in order when it came
  int passed = 0;                 ///< how many from behind it in order entered where it could have
  int overtaken = 0;  ///< under a cap: how many that arrived later, no more urgent, entered where it could have
  std::vector<std::uint32_t> held;  ///< as of PrefixHits::look_up(), when it was last asked
  bool capped = false;              ///< overtaken as often as may be: goes before all others
};

/// The requests of one model that wait, in the order they should enter: capped ones by arrival, then by priority
/// (lower first), then fair between clients by start-time fair queueing (Goyal, Vin and Cheng 1996; a request's
/// cost is its expected tokens), then by arrival; one that was returned goes before all of its priority that were not.
/// Not thread-safe; knows no worker.
class WaitingPool {
 public:
  /// `overtake_cap` 0 = none. `keeps_places`: Waiting::found_waiting and passed are kept, for a policy that bounds
  /// overtaking itself; it costs a walk over those that are passed.
  explicit WaitingPool(int overtake_cap, bool keeps_places = false)
      : overtake_cap_(overtake_cap), keeps_places_(keeps_places) {}

  Waiting& add(Waiting waiting, double cost);
  /// Takes the request out, or gives nothing if it is not here.
  [[nodiscard]] std::unique_ptr<Waiting> remove(RequestId id);
  /// As remove(), and every request that was `eligible` for the same place counts as passed once more if it stood
  /// before it in order, and as overtaken if it arrived earlier and is no less urgent.
  template <class Eligible>
  [[nodiscard]] std::unique_ptr<Waiting> enter(RequestId id, Eligible eligible) {
    const Waiting& entering = *by_arrival_.at(id);
    charge(entering);
    for (const auto& [key, before] : order_) {
      if (!keeps_places_ || before->id == id) break;
      if (eligible(*before)) ++before->passed;
    }
    auto entered = remove(id);
    for (auto& [earlier, waiting] : by_arrival_) {
      if (overtake_cap_ == 0 || earlier >= id) break;
      if (waiting->submission.priority <= entered->submission.priority && eligible(*waiting)) overtake(*waiting);
    }
    return entered;
  }

  /// Calls visit(Waiting&) in order until it returns false; it may recheck() what it visits.
  template <class Visit>
  void in_order(Visit visit) {
    for (const auto& [key, waiting] : order_) {
      if (!visit(*waiting)) return;
    }
  }
  /// Those whose next_check has come.
  [[nodiscard]] std::vector<RequestId> due(Time now) const;
  void recheck(RequestId id, Time when);
  [[nodiscard]] Waiting* find(RequestId id);

  [[nodiscard]] std::size_t size() const { return by_arrival_.size(); }
  [[nodiscard]] bool empty() const { return by_arrival_.empty(); }
  /// The first in order; the pool must not be empty.
  [[nodiscard]] const Waiting& head() const { return *order_.begin()->second; }
  /// How many requests were ever overtaken as often as may be.
  [[nodiscard]] std::uint64_t ever_capped() const { return ever_capped_; }
  /// Clients that fair order keeps an account of: those that wait and a bounded number of others.
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] Time oldest_arrival() const { return by_arrival_.begin()->second->arrived; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  using Key = std::tuple<bool, std::int64_t, double, RequestId>;
  static Key key_of(const Waiting& waiting);
  [[nodiscard]] std::size_t rank_of(const Key& key) const;
  /// What a client has been given and has asked for, in tags of start-time fair queueing.
  struct Account {
    double served = 0;  ///< finish tag of its last request that entered
    double asked = 0;   ///< finish tag of its last request that waits, else `served`
    std::size_t waiting = 0;
  };
  /// Accounts of clients with nothing waiting that are kept. Such a client is ahead of fair order by one request
  /// at most, so forgetting it now and then gives little away.
  static constexpr std::size_t most_idle_accounts = 8192;

  void charge(const Waiting& entering);
  void overtake(Waiting& waiting);

  int overtake_cap_;
  bool keeps_places_;
  double virtual_time_ = 0;
  Bytes bytes_;
  std::map<RequestId, std::unique_ptr<Waiting>> by_arrival_;
  std::map<Key, Waiting*> order_;
  std::set<std::pair<Time, RequestId>> checks_;
  std::unordered_map<ClientKey, Account> clients_;  // empty whenever the pool is
  std::uint64_t ever_capped_ = 0;
};

}  // namespace evenkeel::dispatch
