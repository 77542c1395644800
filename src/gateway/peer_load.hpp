#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "peers/news.hpp"

namespace evenkeel::gateway {

/// What a router tells a peer of its load of one model, at one instant.
struct PeerLoad {
  peers::News news;
  std::optional<std::int64_t> slots;  ///< requests of that model it serves at once; nothing: it does not know
  /// With an answer: from the request's arrival to the answer's head.
  std::optional<Duration> took;
};

/// As the value of X-Evenkeel-Load: "epoch=E;seq=N;active=A;yours=Y;slots=S;took-ms=T", without what is not known.
[[nodiscard]] std::string write_load(const PeerLoad& load);
/// Nothing for what is no such value or cannot be: counts are 0 to 1,000,000, yours at most active, took at most a day.
/// Keys that are not known are passed over.
[[nodiscard]] std::optional<PeerLoad> read_load(std::string_view value);

}  // namespace evenkeel::gateway
