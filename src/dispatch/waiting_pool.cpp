#include "dispatch/waiting_pool.hpp"

#include <algorithm>
#include <iterator>

namespace evenkeel::dispatch {

WaitingPool::Key WaitingPool::key_of(const Waiting& waiting) {
  if (waiting.capped) return {false, 0, 0, waiting.id};
  return {true, waiting.submission.priority, waiting.start_tag, waiting.id};
}

Waiting& WaitingPool::add(Waiting waiting, double cost) {
  if (clients_.size() > by_arrival_.size() + most_idle_accounts) {
    std::erase_if(clients_, [](const auto& client) { return client.second.waiting == 0; });
  }
  Account& account = clients_[waiting.submission.client];
  if (waiting.submission.returned) {
    // All that wait stood behind it when it entered, and its client was charged for it then.
    waiting.start_tag = waiting.finish_tag = 0;
  } else {
    waiting.start_tag = std::max(virtual_time_, account.asked);
    waiting.finish_tag = account.asked = waiting.start_tag + cost;
  }
  ++account.waiting;
  bytes_ += waiting.submission.bytes;
  const RequestId id = waiting.id;
  if (keeps_places_) waiting.found_waiting = rank_of(key_of(waiting));
  const Key key = key_of(waiting);
  checks_.emplace(waiting.next_check, id);
  auto& slot = by_arrival_[id];
  slot = std::make_unique<Waiting>(std::move(waiting));
  order_.emplace(key, slot.get());
  return *slot;
}

std::size_t WaitingPool::rank_of(const Key& key) const {
  if (order_.empty() || order_.rbegin()->first < key) return order_.size();  // the usual case: behind all
  return static_cast<std::size_t>(std::distance(order_.begin(), order_.lower_bound(key)));
}

std::unique_ptr<Waiting> WaitingPool::remove(RequestId id) {
  const auto found = by_arrival_.find(id);
  if (found == by_arrival_.end()) return nullptr;
  auto waiting = std::move(found->second);
  by_arrival_.erase(found);
  order_.erase(key_of(*waiting));
  checks_.erase({waiting->next_check, id});
  bytes_ -= waiting->submission.bytes;
  Account& account = clients_.at(waiting->submission.client);
  if (--account.waiting == 0) account.asked = account.served;  // what was taken back or refused costs nothing
  if (by_arrival_.empty()) {
    clients_.clear();
    virtual_time_ = 0;
  }
  return waiting;
}

void WaitingPool::charge(const Waiting& entering) {
  virtual_time_ = std::max(virtual_time_, entering.start_tag);
  Account& account = clients_.at(entering.submission.client);
  account.served = std::max(account.served, entering.finish_tag);
}

void WaitingPool::overtake(Waiting& waiting) {
  ++waiting.overtaken;
  if (waiting.capped || waiting.overtaken < overtake_cap_) return;
  order_.erase(key_of(waiting));
  waiting.capped = true;
  ++ever_capped_;
  order_.emplace(key_of(waiting), &waiting);
}

std::vector<RequestId> WaitingPool::due(Time now) const {
  std::vector<RequestId> ids;
  for (const auto& [when, id] : checks_) {
    if (when > now) break;
    ids.push_back(id);
  }
  return ids;
}

void WaitingPool::recheck(RequestId id, Time when) {
  Waiting& waiting = *by_arrival_.at(id);
  checks_.erase({waiting.next_check, id});
  waiting.next_check = when;
  checks_.emplace(when, id);
}

Waiting* WaitingPool::find(RequestId id) {
  const auto found = by_arrival_.find(id);
  return found == by_arrival_.end() ? nullptr : found->second.get();
}

}  // namespace evenkeel::dispatch
