#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "simulation/peer_boxes.hpp"
#include "simulation/peer_world.hpp"

namespace evenkeel::simulation {

/// Bursts on boxes that lend each other capacity.
struct PeersSetting {
  std::vector<Box> boxes;
  std::int64_t burst = 8;
  std::int64_t tokens = 111;         ///< output of a request
  std::vector<std::int64_t> sizes;   ///< of the requests of a burst, in place of `burst` equal ones; no optimum then
  std::int64_t rounds = 1;           ///< bursts, one after the other
  Duration gap{};                    ///< from the end of one to the start of the next
  Duration first_at{};               ///< of the first, after the routers have met
  Duration spacing{};                ///< between two requests of a burst
  std::optional<std::size_t> entry;  ///< box whose clients send them; none: a burst at each
  bool known_rates = true;           ///< else learned from nothing
  bool streams = true;               ///< else answers come whole
  bool warm_up = false;              ///< each box serves one alone and then as many as it has slots, before the bursts
  Exchange exchange = Exchange::books;
  Network network;
  std::uint64_t seed = 1;
};

namespace bounds {
inline constexpr Whole rounds{1, 100'000};
inline constexpr Real peers_ms{0, 60'000};
}  // namespace bounds

struct PeerBurst {
  std::int64_t round = 0;  ///< from 1
  std::int64_t requests = 0;
  std::int64_t tokens = 0;
  double wall_s = 0;  ///< from the first request to the last answer
  double tokens_per_s = 0;
  std::vector<std::int64_t> split;  ///< requests served, by box
  double ceiling = 0;               ///< tokens/s of that split; 0 for unequal requests, as the next
  Split best;
  std::int64_t forwarded = 0;  ///< served by a box that they did not come to
  std::int64_t refused = 0;
  bool suppressed = false;  ///< none was forwarded, though the best split forwards some

  [[nodiscard]] double efficiency() const { return best.tokens_per_s > 0 ? tokens_per_s / best.tokens_per_s : 0; }
};

struct PeersResult {
  std::string policy;
  std::vector<PeerBurst> bursts;

  [[nodiscard]] double mean_tokens_per_s() const;
  [[nodiscard]] std::int64_t suppressed() const;
};

/// Whether there is such a policy: late, late_tail with its parameters, legacy_0670, legacy_0671.
[[nodiscard]] Result<void> check_peer_policy(std::string_view policy);

/// Gives the world's boxes routers of that policy.
[[nodiscard]] Result<void> set_routers(PeerWorld& world, const PeersSetting& setting, std::string_view policy);

/// One run in virtual time; the same arguments give the same result. `progress` is told how many rounds are done.
[[nodiscard]] Result<PeersResult> run_peers(const PeersSetting& setting, std::string_view policy,
                                            const std::function<void(std::uint64_t)>& progress = {});

}  // namespace evenkeel::simulation
