#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/random.hpp"
#include "emulator/faults.hpp"
#include "emulator/rank_balancer.hpp"
#include "engine/config.hpp"

namespace evenkeel::emulator {

/// Which generation of vLLM's metric names /metrics shows. vLLM itself showed both for half a year.
enum class MetricNames : std::uint8_t { current, old, both };

/// What an engine does for others in prefill/decode disaggregation.
enum class Role : std::uint8_t { prefill, decode, both };

struct KvOptions {
  Role role = Role::both;
  Duration lease = std::chrono::seconds(30);          ///< of KV that is kept to be pulled, 1 ms to a day; engine time
  Duration setup = std::chrono::milliseconds(2);      ///< of a transfer, 0 to 60 s; engine time
  Duration per_token = std::chrono::microseconds(3);  ///< of a transfer, 0 to 1 s; engine time
  /// How long a leg waits for the other (SGLang's rooms), 1 ms to a day; engine time.
  Duration bootstrap_timeout = std::chrono::seconds(300);
  bool recompute_on_failure = false;  ///< a transfer that fails: prefill here, else the request fails
  bool error_on_reuse = false;        ///< parameters used twice: the request fails, else the answer is garbled
  std::string host;                   ///< where the other side finds this one; empty: the address it listens on
};

/// How KV-cache events are published.
struct KvEventOptions {
  std::uint16_t port = 0;         ///< of the first rank of the first engine; the others follow
  std::uint16_t replay_port = 0;  ///< likewise; 0 = nothing is played again
  bool lists = false;             ///< events are lists, and replies to replays have no topic (vLLM before June 2026)
  enum class Hashes : std::uint8_t { integers, signed_integers, bytes };
  Hashes hashes = Hashes::integers;
};

/// Everything an emulator is told at its start.
struct EmulatorOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;    ///< of the first engine; 0 = a free one for each
  std::size_t replicas = 1;  ///< 1 to 64, on consecutive ports, each with an engine of its own
  std::string model;         ///< the served name, 1 to 256 bytes
  engine::EngineConfig engine;
  bool sync = true;         ///< several ranks share each step; else each steps by itself
  bool rank_ports = false;  ///< a port for each rank, on consecutive ports, instead of one for all
  RankBalancing balancing = RankBalancing::current;  ///< of requests that name no rank; no effect with rank_ports
  std::optional<KvEventOptions> kv_events;           ///< none: nothing is published
  std::optional<KvOptions> kv;                       ///< none: kv_transfer_params have no effect
  Faults faults;                                     ///< in force from the start, at every port
  double time_scale = 1;                             ///< engine seconds a real second, [0.001, 1000]
  /// Text and length of an answer are a hash of this and of the prompt: every replica and every emulator of
  /// the same seed gives the same answer to the same request.
  std::uint64_t seed = 1;
  MetricNames metric_names = MetricNames::current;
  /// Output tokens of a request that does not say how many (a draw below 1 counts as 1). Must be set.
  std::function<std::int64_t(Random&)> draw_output;
};

/// Ports of one engine.
[[nodiscard]] inline std::size_t ports_each(const EmulatorOptions& options) {
  return options.rank_ports ? options.engine.ranks : 1;
}

/// Names the first setting that is out of bounds, and the bounds.
[[nodiscard]] Result<void> validate(const EmulatorOptions& options);

}  // namespace evenkeel::emulator
