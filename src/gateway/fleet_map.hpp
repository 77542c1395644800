#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"
#include "config/settings.hpp"
#include "engines/adapter.hpp"
#include "engines/bootstrap.hpp"
#include "gateway/peer_link.hpp"
#include "http/address.hpp"

namespace evenkeel::engines {
class KvEventFeed;
}

namespace evenkeel::gateway {

/// How to reach one worker: an engine, or one data-parallel rank of it.
struct Upstream {
  WorkerId id;
  std::string name;
  std::uint32_t engine = 0;  ///< number of the engine: its ranks share connections, probes and what breaks them
  http::Address address;
  std::string authority;  ///< Host header
  std::string base_path;
  std::string authorization;  ///< whole field value, or empty
  const engines::Adapter* adapter = nullptr;
  std::shared_ptr<const engines::KvEventFeed> kv_feed;  ///< what it tells of its prefix cache; null = nothing
  std::string rank_field;  ///< whole field line that addresses the rank, or empty: the engine is one worker
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;               ///< of the engine; 1 if it is one worker
  engines::BootstrapServer bootstrap;    ///< of an SGLang prefill engine
  std::shared_ptr<const PeerLink> peer;  ///< null: an engine of our own
};

/// A name that clients may use.
struct ModelName {
  ModelId id;
  std::string served;  ///< what the workers call it
  bool alias = false;
  bool never_shed = false;
};

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// How the requests of a model are split between workers that prefill and workers that decode.
struct Splitting {
  ModelId prefill;        ///< the set of workers that prefill, in the dispatcher's eyes a model of its own
  bool together = false;  ///< both legs at once, as SGLang; else one after the other, as vLLM
};

/// What shards know of the fleet: immutable, replaced whole by the control thread.
struct FleetMap {
  std::vector<std::shared_ptr<const Upstream>> upstreams;  ///< by WorkerId; null where removed
  boost::unordered_flat_map<std::string, ModelName, StringHash, std::equal_to<>> names;
  std::vector<ModelName> served;                    ///< models some worker serves or the operator named
  std::vector<config::Timeouts> timeouts;           ///< by ModelId
  std::vector<std::optional<Splitting>> splitting;  ///< by ModelId; nothing where requests go whole
  bool undiscovered = false;                        ///< a worker has not told its models yet
  bool prefix_caches = false;                       ///< some worker has a prefix cache that is kept account of

  std::vector<std::int64_t> max_model_len;  ///< by ModelId; 0 = not told
  std::vector<bool> adapter;                ///< by ModelId: served as an adapter over another model
  bool tells_kv = false;                    ///< some upstream has a kv_feed

  [[nodiscard]] const ModelName* find(std::string_view name) const {
    const auto at = names.find(name);
    return at == names.end() ? nullptr : &at->second;
  }
  /// Null if this map does not know the worker.
  [[nodiscard]] std::shared_ptr<const Upstream> upstream(WorkerId id) const {
    return id.value < upstreams.size() ? upstreams[id.value] : nullptr;
  }
  /// A worker of the only engine of our own there is, or null: of several ranks the one that `draw` hits.
  [[nodiscard]] const Upstream* of_only_engine(std::uint64_t draw) const {
    std::uint64_t ranks = 0;
    const Upstream* chosen = nullptr;
    for (const auto& upstream : upstreams) {
      if (upstream == nullptr || upstream->peer != nullptr) continue;
      if (chosen != nullptr && chosen->engine != upstream->engine) return nullptr;
      ++ranks;
      chosen = upstream.get();
    }
    std::uint64_t place = ranks > 1 ? draw % ranks : 0;
    for (const auto& upstream : upstreams) {
      if (upstream != nullptr && upstream->peer == nullptr && place-- == 0) return upstream.get();
    }
    return nullptr;
  }
};

}  // namespace evenkeel::gateway
