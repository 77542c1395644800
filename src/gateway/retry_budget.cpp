#include "gateway/retry_budget.hpp"

#include <algorithm>

namespace evenkeel::gateway {

RetryBudget::Account& RetryBudget::account(ModelId model, Time now) {
  Account& account = accounts_[model];
  const std::int64_t second = now.time_since_epoch() / std::chrono::seconds(1);
  const std::int64_t gone = std::min(second - account.now, seconds);
  for (std::int64_t i = 1; i <= gone; ++i) {
    Second& old = account.last[static_cast<std::size_t>((second - gone + i) % seconds)];
    account.first -= old.first;
    account.retries -= old.retries;
    old = {};
  }
  account.now = std::max(account.now, second);
  return account;
}

void RetryBudget::first_attempt(ModelId model, Time now) {
  const std::lock_guard lock(mutex_);
  Account& of = account(model, now);
  ++of.first;
  ++of.last[static_cast<std::size_t>(of.now % seconds)].first;
}

bool RetryBudget::take(ModelId model, Time now) {
  if (share_ <= 0) return false;
  const std::lock_guard lock(mutex_);
  Account& of = account(model, now);
  const auto after = static_cast<double>(of.retries + 1);
  if (after > std::max(allowance, share_ * static_cast<double>(of.first)) + 1e-9) return false;
  ++of.retries;
  ++of.last[static_cast<std::size_t>(of.now % seconds)].retries;
  return true;
}

void RetryBudget::charge(ModelId model, Time now) {
  const std::lock_guard lock(mutex_);
  Account& of = account(model, now);
  ++of.retries;
  ++of.last[static_cast<std::size_t>(of.now % seconds)].retries;
}

}  // namespace evenkeel::gateway
