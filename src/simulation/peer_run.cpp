#include "simulation/peer_run.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "routing/spec.hpp"
#include "simulation/legacy_router.hpp"
#include "simulation/peer_router.hpp"

namespace evenkeel::simulation {

namespace {

std::optional<LegacyRules> legacy_rules(std::string_view policy) {
  if (policy == "legacy_0670") return LegacyRules::v0_67_0;
  if (policy == "legacy_0671") return LegacyRules::v0_67_1;
  return std::nullopt;
}

/// Sends to each box, from itself, one request alone and then as many as it has slots.
void warm_up(PeerWorld& world, const PeersSetting& setting) {
  const std::size_t from = setting.entry.value_or(0);
  for (std::size_t box = 0; box < world.boxes().size(); ++box) {
    const std::size_t slots = world.boxes()[box].slots();
    if (slots == 0) continue;
    for (const std::size_t level : {std::size_t{1}, slots}) {
      for (std::size_t i = 0; i < level; ++i) world.submit(from, setting.tokens, 1, box);
      world.run_until_done();
    }
  }
}

std::vector<std::size_t> entries_of(const PeersSetting& setting) {
  if (setting.entry) return {*setting.entry};
  std::vector<std::size_t> all(setting.boxes.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<std::int64_t> sizes_of(const PeersSetting& setting) {
  if (!setting.sizes.empty()) return setting.sizes;
  return std::vector<std::int64_t>(static_cast<std::size_t>(setting.burst), setting.tokens);
}

PeerBurst measure(const PeerWorld& world, std::size_t first, const PeersSetting& setting) {
  PeerBurst burst;
  burst.split.assign(setting.boxes.size(), 0);
  Time begun = Time::max();
  Time ended = Time::min();
  for (std::size_t id = first; id < world.requests().size(); ++id) {
    const PeerRequest& request = world.requests()[id];
    ++burst.requests;
    begun = std::min(begun, request.submitted);
    if (!request.ended) {
      ++burst.refused;
      continue;
    }
    ended = std::max(ended, *request.ended);
    burst.tokens += request.tokens;
    ++burst.split[request.served];
    if (request.served != request.entered) ++burst.forwarded;
  }
  if (ended > begun) burst.wall_s = to_seconds(ended - begun);
  if (burst.wall_s > 0) burst.tokens_per_s = static_cast<double>(burst.tokens) / burst.wall_s;
  return burst;
}

/// What could have been had.
void compare(PeerBurst& burst, const PeersSetting& setting, const Split& best) {
  if (!setting.sizes.empty()) return;
  burst.best = best;
  burst.ceiling = ceiling_of(setting.boxes, burst.split, static_cast<double>(setting.tokens));
  const std::int64_t kept = setting.entry ? best.requests[*setting.entry] : burst.requests;
  burst.suppressed = burst.forwarded == 0 && kept < burst.requests;
}

}  // namespace

double PeersResult::mean_tokens_per_s() const {
  const double sum = std::accumulate(bursts.begin(), bursts.end(), 0.0,
                                     [](double so_far, const PeerBurst& burst) { return so_far + burst.tokens_per_s; });
  return bursts.empty() ? 0 : sum / static_cast<double>(bursts.size());
}

std::int64_t PeersResult::suppressed() const {
  return std::count_if(bursts.begin(), bursts.end(), [](const PeerBurst& burst) { return burst.suppressed; });
}

Result<void> check_peer_policy(std::string_view policy) {
  if (legacy_rules(policy)) return {};
  const auto spec = routing::PolicySpec::parse(policy);
  if (!spec) return tl::unexpected(spec.error());
  constexpr std::array<std::string_view, 4> names = {"late_tail", "late", "legacy_0670", "legacy_0671"};
  if (spec->name != "late" && spec->name != "late_tail") {
    const std::string_view near = nearest_name(spec->name, names);
    return failure(fmt::format("--policy \"{}\" is none between peers{}; allowed: {}", spec->name,
                               near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
                               fmt::join(names, ", ")));
  }
  if (auto made = routing::make_policy(*spec); !made) return tl::unexpected(made.error());
  return {};
}

Result<void> set_routers(PeerWorld& world, const PeersSetting& setting, std::string_view policy) {
  if (auto ok = check_peer_policy(policy); !ok) return ok;
  if (const auto rules = legacy_rules(policy)) {
    set_legacy_routers(world, *rules, setting.seed);
    return {};
  }
  PeerRouterOptions options;
  options.exchange = setting.exchange;
  options.known_rates = setting.known_rates;
  options.streams = setting.streams;
  if (setting.known_rates) options.mean_output = static_cast<double>(setting.tokens);
  return set_peer_routers(world, policy, setting.seed, options);
}

Result<PeersResult> run_peers(const PeersSetting& setting, std::string_view policy,
                              const std::function<void(std::uint64_t)>& progress) {
  PeerWorld world(setting.boxes, setting.network);
  if (auto ok = set_routers(world, setting, policy); !ok) return tl::unexpected(ok.error());
  if (setting.warm_up) warm_up(world, setting);
  world.run_until(world.now() + setting.first_at);
  const auto entries = entries_of(setting);
  const auto sizes = sizes_of(setting);
  Split best;
  if (setting.sizes.empty()) {
    best = best_split(setting.boxes, setting.burst * static_cast<std::int64_t>(entries.size()),
                      static_cast<double>(setting.tokens));
  }
  PeersResult result;
  result.policy = policy;
  for (std::int64_t round = 1; round <= setting.rounds; ++round) {
    const std::size_t first = world.requests().size();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i > 0 && setting.spacing > Duration(0)) world.run_until(world.now() + setting.spacing);
      for (const std::size_t box : entries) world.submit(box, sizes[i]);
    }
    world.run_until_done();
    PeerBurst burst = measure(world, first, setting);
    burst.round = round;
    compare(burst, setting, best);
    result.bursts.push_back(std::move(burst));
    if (progress) progress(static_cast<std::uint64_t>(round));
    if (round < setting.rounds) world.run_until(world.now() + setting.gap);
  }
  return result;
}

}  // namespace evenkeel::simulation
