#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "routing/consistent_hash.hpp"
#include "routing/least_wait.hpp"
#include "routing/policy.hpp"
#include "routing/simple.hpp"

namespace evenkeel::routing {

namespace {
constexpr std::array<std::string_view, 7> names = {"random",       "round_robin", "power_of_two",   "least_requests",
                                                   "least_tokens", "least_wait",  "consistent_hash"};
}  // namespace

std::span<const std::string_view> policy_names() { return names; }

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  if (name == "random") return std::make_unique<RandomChoice>();
  if (name == "round_robin") return std::make_unique<RoundRobin>();
  if (name == "power_of_two") return std::make_unique<PowerOfTwo>();
  if (name == "least_requests") return std::make_unique<LeastRequests>();
  if (name == "least_tokens") return std::make_unique<LeastTokens>();
  if (name == "least_wait") return std::make_unique<LeastWait>();
  if (name == "consistent_hash") return std::make_unique<ConsistentHash>();
  const auto near = nearest_name(name, names);
  return failure(fmt::format("policy \"{}\" is not known{} (allowed: {})", name,
                             near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", ")));
}

}  // namespace evenkeel::routing
