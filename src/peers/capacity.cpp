#include "peers/capacity.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::peers {

Capacity read_capacity(std::optional<std::string_view> said, std::int64_t clamp) {
  if (!said) return {};
  const auto value = parse_double(*said);
  if (!value || *value < 1) {
    return {std::nullopt, fmt::format("capacity \"{}\" refused: a number from 1 is allowed", said->substr(0, 40))};
  }
  if (*value > static_cast<double>(clamp)) {
    return {clamp, fmt::format("capacity {} cut to {}", said->substr(0, 40), clamp)};
  }
  return {static_cast<std::int64_t>(std::floor(*value)), {}};
}

Capacity CapacityPin::admit(Capacity said, std::optional<std::int64_t> measured_at, const Fingerprint& now) {
  if (!said.slots || pin_.admit(*said.slots, measured_at, now)) return said;
  const bool same_again = compare(pin_.measured_with(), now).compatible;
  return {std::nullopt, fmt::format("capacity {} put away: it was measured with {}", *said.slots,
                                    same_again ? "a model that was exchanged meanwhile" : "another model")};
}

}  // namespace evenkeel::peers
