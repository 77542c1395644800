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

bool CapacityPin::measured_anew(const Capacity& said, std::optional<std::int64_t> measured_at) const {
  if (measured_at && pinned_->measured_at) return *measured_at > *pinned_->measured_at;
  return *said.slots != pinned_->slots;
}

Capacity CapacityPin::admit(Capacity said, std::optional<std::int64_t> measured_at, const Fingerprint& now) {
  if (!said.slots) return said;
  if (!pinned_ || measured_anew(said, measured_at)) {
    pinned_ = Pinned{*said.slots, measured_at, now, false};
    return said;
  }
  pinned_->put_away = pinned_->put_away || definitely_changed(pinned_->with, now);
  if (!pinned_->put_away) return said;
  return {std::nullopt, fmt::format("capacity {} put away: it was measured with {}", pinned_->slots,
                                    compare(pinned_->with, now).compatible ? "a model that was exchanged meanwhile"
                                                                           : "another model")};
}

}  // namespace evenkeel::peers
