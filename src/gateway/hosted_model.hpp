#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "peers/fingerprint.hpp"

namespace evenkeel::gateway {

/// A model that engines of our own serve, as peers are told of it.
struct HostedModel {
  ModelId model;
  std::string served;
  std::vector<std::string> aliases;            ///< in the order they were given
  peers::Fingerprint fingerprint;              ///< where engines differ, the field is not known
  bool slots_known = false;                    ///< somebody said of each engine how many requests it takes at once
  std::optional<std::int64_t> measured_at_ms;  ///< Unix time of the last measurement, if all engines were measured
  std::int64_t since_ms = 0;  ///< Unix time since when it is what it is: what was learned of it is of later

  friend bool operator==(const HostedModel&, const HostedModel&) = default;
};

}  // namespace evenkeel::gateway
