#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/events.hpp"

namespace evenkeel::emulator {

/// KV that a prefill engine keeps for others to pull: each under a lease, which ends when it is pulled, declined, or
/// not renewed in time (vLLM's NIXL connector since May 2026, #41383). Pure; engine time. O(log leases) a call.
class LeaseTable {
 public:
  struct Kept {
    engine::RequestId id = 0;  ///< the engine's
    std::size_t rank = 0;
  };
  enum class Standing : std::uint8_t {
    held,
    reused,   ///< was pulled before
    expired,  ///< the lease ended by time
    unknown,  ///< never heard of, declined, or forgotten: the last 65536 that ended are known
  };
  struct Found {
    Standing standing = Standing::unknown;
    Kept kept;  ///< unless unknown
  };

  explicit LeaseTable(Duration lease) : lease_(lease) {}

  /// `name` must be new.
  void open(const std::string& name, Kept kept, Time now);
  /// Ends a lease, because its KV was `pulled` or because nobody wants it. If it was held it is the caller's to free.
  /// Call expire() first.
  [[nodiscard]] Found end(const std::string& name, bool pulled);
  /// The decode side still wants it: it holds for at least two thirds of a lease more. false if it is not held.
  bool renew(const std::string& name, Time now);
  /// Those that ended by `now`; the caller's to free.
  [[nodiscard]] std::vector<Kept> expire(Time now);
  [[nodiscard]] std::optional<Time> next_expiry() const;
  [[nodiscard]] std::size_t open_leases() const { return open_.size(); }

 private:
  struct Lease {
    Kept kept;
    Time until;
  };
  void remember(const std::string& name, Found how);

  static constexpr std::size_t most_remembered = 65536;
  Duration lease_;
  std::unordered_map<std::string, Lease> open_;
  std::set<std::pair<Time, std::string>> by_expiry_;
  std::unordered_map<std::string, Found> ended_;
  std::deque<std::string> ended_order_;
};

[[nodiscard]] std::string_view name_of(LeaseTable::Standing standing);

}  // namespace evenkeel::emulator
