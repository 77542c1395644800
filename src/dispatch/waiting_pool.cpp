#include "dispatch/waiting_pool.hpp"

#include <algorithm>

namespace evenkeel::dispatch {

WaitingPool::Key WaitingPool::key_of(const Waiting& waiting) {
  if (waiting.capped) return {false, 0, 0, waiting.id};
  return {true, waiting.submission.priority, waiting.start_tag, waiting.id};
}

Waiting& WaitingPool::add(Waiting waiting, double cost) {
  double& finish = finish_tags_[waiting.submission.client];
  waiting.start_tag = std::max(virtual_time_, finish);
  finish = waiting.start_tag + cost;
  bytes_ += waiting.submission.bytes;
  const RequestId id = waiting.id;
  order_.insert(key_of(waiting));
  checks_.emplace(waiting.next_check, id);
  auto& slot = by_arrival_[id];
  slot = std::make_unique<Waiting>(std::move(waiting));
  return *slot;
}

std::unique_ptr<Waiting> WaitingPool::remove(RequestId id) {
  const auto found = by_arrival_.find(id);
  if (found == by_arrival_.end()) return nullptr;
  auto waiting = std::move(found->second);
  by_arrival_.erase(found);
  order_.erase(key_of(*waiting));
  checks_.erase({waiting->next_check, id});
  bytes_ -= waiting->submission.bytes;
  if (by_arrival_.empty()) forget_clients();
  return waiting;
}

void WaitingPool::overtake(Waiting& waiting) {
  ++waiting.overtaken;
  if (waiting.capped || waiting.overtaken < overtake_cap_) return;
  order_.erase(key_of(waiting));
  waiting.capped = true;
  order_.insert(key_of(waiting));
}

void WaitingPool::forget_clients() {
  finish_tags_.clear();
  virtual_time_ = 0;
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
