#include "gateway/retry_budget.hpp"

#include <cmath>

namespace evenkeel::gateway {

RetryBudget::Account& RetryBudget::account(ModelId model, Time now) {
  Account& account = accounts_[model];
  const double seconds = to_seconds(now - account.faded);
  if (seconds > 0.1) {  // fading in small steps costs an exp a request and changes nothing
    const double keep = account.first == 0 && account.retries == 0 ? 0 : std::exp(-seconds / 60);
    account.first *= keep;
    account.retries *= keep;
    account.faded = now;
  }
  return account;
}

void RetryBudget::first_attempt(ModelId model, Time now) {
  const std::lock_guard lock(mutex_);
  account(model, now).first += 1;
}

bool RetryBudget::take(ModelId model, Time now) {
  if (share_ <= 0) return false;
  const std::lock_guard lock(mutex_);
  Account& of = account(model, now);
  if (of.retries + 1 > allowance + share_ * of.first) return false;
  of.retries += 1;
  return true;
}

void RetryBudget::charge(ModelId model, Time now) {
  const std::lock_guard lock(mutex_);
  account(model, now).retries += 1;
}

}  // namespace evenkeel::gateway
