#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/check_parts.hpp"
#include "config/load.hpp"
#include "http/address.hpp"

namespace evenkeel::config {
namespace {

constexpr std::size_t most_peers = 256;

/// What a model says of itself for peers alone: by key.
std::array<std::pair<std::string_view, const std::string*>, 6> declarations(const ModelSetting& model) {
  return {{{"runtime", &model.runtime},
           {"quantization", &model.quantization},
           {"kv_cache_dtype", &model.kv_cache_dtype},
           {"reasoning_parser", &model.reasoning_parser},
           {"tool_parser", &model.tool_parser},
           {"speculative_config", &model.speculative_config}}};
}

Result<void> check_without_peers(const ServeSettings& s) {
  constexpr std::string_view end = "has no effect without peers (allowed with: [[peers]] or --peer-urls)";
  if (!s.self_name.empty()) return failure(fmt::format("self_name {}", end));
  if (s.peer_options != PeerOptionSettings()) {
    return failure("settings of peer_options have no effect without peers (allowed with: [[peers]] or --peer-urls)");
  }
  for (const ModelSetting& model : s.models) {
    for (const auto& [key, value] : declarations(model)) {
      if (!value->empty()) return failure(fmt::format("model \"{}\": {} {}", model.name, key, end));
    }
  }
  return {};
}

Result<void> check_one(PeerSetting& peer) {
  const auto url = http::parse_url(peer.url);
  if (!url) return tl::unexpected(url.error());
  if (peer.name.empty()) peer.name = url->authority();
  const auto fail = [&](std::string_view what) { return failure(fmt::format("peer \"{}\": {}", peer.name, what)); };
  if (!is_token(peer.name, name_signs)) {
    return fail("this is no name (allowed: up to 128 letters, digits and ._:-[])");
  }
  std::set<std::string_view> models;
  for (const std::string& model : peer.models) {
    if (model.empty()) return fail("a model name is empty");
    if (!models.insert(model).second) return fail(fmt::format("the model \"{}\" is named twice", model));
  }
  if (const auto key = api_key(peer); !key) return fail(key.error().message);
  if (const auto key = accept_key(peer); !key) return fail(key.error().message);
  return {};
}

}  // namespace

Result<void> check_peers(ServeSettings& s) {
  if (s.peers.empty()) return check_without_peers(s);
  if (s.peers.size() > most_peers) {
    return failure(fmt::format("there are {} peers (allowed: {})", s.peers.size(), most_peers));
  }
  if (!s.self_name.empty() && !is_token(s.self_name, name_signs)) {
    return failure(fmt::format("self_name \"{}\" is no name (allowed: up to 128 letters, digits and {})", s.self_name,
                               name_signs));
  }
  std::set<std::string> names;
  std::set<std::string> urls;
  for (const WorkerSetting& worker : s.workers) {
    names.insert(worker.name);
    const auto url = http::parse_url(worker.url);
    urls.insert(url->authority() + url->base_path);
  }
  for (PeerSetting& peer : s.peers) {
    if (auto done = check_one(peer); !done) return done;
    const auto url = http::parse_url(peer.url);
    if (!urls.insert(url->authority() + url->base_path).second) {
      return failure(fmt::format("peer \"{}\": another peer or a worker has the url \"{}\"", peer.name, peer.url));
    }
    if (!names.insert(peer.name).second) {
      return failure(
          fmt::format("two peers, or a peer and a worker, have the name \"{}\"; give one another name", peer.name));
    }
  }
  const PeerOptionSettings& options = s.peer_options;
  const PeerOptionSettings defaults;
  if (!options.capacities && options.capacity_clamp != defaults.capacity_clamp) {
    return failure("peer_options.capacity_clamp has no effect with peer_options.capacities = false");
  }
  if (options.uncalibrated_slots > options.capacity_clamp) {
    return failure("peer_options.uncalibrated_slots is over peer_options.capacity_clamp");
  }
  return {};
}

}  // namespace evenkeel::config
