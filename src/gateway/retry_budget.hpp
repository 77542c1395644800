#pragma once

#include <mutex>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace evenkeel::gateway {

/// Retries of a model as a share of its recent first attempts, faded over a minute. A small allowance stands
/// while there were few requests, so that the first fault of a quiet day may be retried. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(double share) : share_(share) {}

  void first_attempt(ModelId model, Time now);
  /// Takes one retry if the budget has it.
  bool take(ModelId model, Time now);
  /// Counts a retry that is made whatever the budget says (a reused connection that gave nothing).
  void charge(ModelId model, Time now);

 private:
  struct Account {
    double first = 0;
    double retries = 0;
    Time faded{};
  };
  static constexpr double allowance = 3;
  Account& account(ModelId model, Time now);

  double share_;
  std::mutex mutex_;
  std::unordered_map<ModelId, Account> accounts_;
};

}  // namespace evenkeel::gateway
