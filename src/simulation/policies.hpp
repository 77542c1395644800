#pragma once

#include <memory>

#include "base/error.hpp"
#include "routing/policy.hpp"
#include "simulation/oracle.hpp"

namespace evenkeel::simulation {

/// A policy as routing::make_policy() makes it, whose forecast may also be `oracle`: what `fates` tells.
[[nodiscard]] Result<std::unique_ptr<routing::Policy>> make_policy(const routing::PolicySpec& spec,
                                                                   std::shared_ptr<const Fates> fates);

/// What keeps a policy from being made, found before a long run.
[[nodiscard]] Result<void> check_policy(const routing::PolicySpec& spec);

}  // namespace evenkeel::simulation
