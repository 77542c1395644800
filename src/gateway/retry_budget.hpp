#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace evenkeel::gateway {

/// Retries of a model as a share of its first attempts: in no minute more than that share of the first attempts of the
/// same minute, so that workers that refuse nearly all for a minute are asked so much oftener and no more. A few may be
/// made where that share is less than one or two, so that the first fault of a quiet day may be retried. What a minute
/// was not used for stands at once when a worker dies with all it had. Minutes are of whole seconds. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(double share) : share_(share) {}

  void first_attempt(ModelId model, Time now);
  /// Takes one retry if the budget has it.
  bool take(ModelId model, Time now);
  /// Counts a retry that is made whatever the budget says (a reused connection that gave nothing).
  void charge(ModelId model, Time now);

 private:
  static constexpr std::int64_t seconds = 60;
  static constexpr double allowance = 3;
  struct Second {
    std::int32_t first = 0;
    std::int32_t retries = 0;
  };
  struct Account {
    std::array<Second, seconds> last{};  ///< by second, modulo
    std::int64_t now = 0;
    std::int64_t first = 0;  ///< sums of the above
    std::int64_t retries = 0;
  };
  Account& account(ModelId model, Time now);

  double share_;
  std::mutex mutex_;
  std::unordered_map<ModelId, Account> accounts_;
};

}  // namespace evenkeel::gateway
