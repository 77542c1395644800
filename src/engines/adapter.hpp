#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::engines {

/// What a worker is. `openai` is any server with /v1/models that fits nothing else.
enum class Kind : std::uint8_t { vllm, sglang, llama_cpp, tgi, openai };

/// "vllm", "sglang", "llama.cpp", "tgi", "openai", in the order of Kind.
[[nodiscard]] std::span<const std::string_view> kind_names();
[[nodiscard]] std::optional<Kind> kind_named(std::string_view name);

/// One page to GET for the load of a worker, with the query it needs.
struct Scrape {
  std::string_view path;
};

/// What an engine says of itself, summed over its data-parallel ranks, or one rank. A fact that was not told, could not
/// be read or cannot be (negative, infinite, more than all) is absent, never 0; so is a sum of which one part is
/// missing.
struct Report {
  std::optional<double> running;  ///< requests in the batch
  std::optional<double> waiting;  ///< requests in the engine's own queue
  std::optional<Tokens> kv_used;  ///< held by requests; what is only cached is free
  std::optional<Tokens> kv_capacity;
  std::optional<std::int64_t> slots;        ///< requests it runs at once before it queues or refuses
  std::optional<double> preemptions_total;  ///< since the engine started; falls when it restarts
  std::optional<bool> prefix_caching;       ///< whether KV of ended requests is found again by later ones
  std::optional<double> prompt_total;       ///< prompt tokens since the engine started; falls when it restarts
  std::optional<double> started;            ///< when its process did, Unix seconds

  [[nodiscard]] bool any() const;
};

/// What one data-parallel rank says of itself.
struct RankReport {
  std::uint32_t number = 0;  ///< in its label: the first one of an engine that is a part of a larger group is not 0
  Report report;
};

/// Ranks of one engine that are looked at: more are none.
inline constexpr std::size_t max_ranks = 1024;

struct Reading {
  Report whole;
  /// By number, ascending; empty where the pages number no ranks, or not all of them.
  std::vector<RankReport> ranks;
};

/// What differs between engine kinds. Stateless: text in, facts out; any thread.
class Adapter {
 public:
  virtual ~Adapter() = default;
  [[nodiscard]] virtual Kind kind() const = 0;
  [[nodiscard]] std::string_view name() const;

  /// GET answers 200 while the engine serves. SGLang generates a token for it: allow a second or more.
  [[nodiscard]] virtual std::string_view health_path() const { return "/health"; }
  /// Pages that tell the load; none = the engine tells nothing.
  [[nodiscard]] virtual std::span<const Scrape> scrapes() const { return {}; }
  /// `bodies` in the order of scrapes(); "" for a page that did not answer 200. Linear in their length.
  [[nodiscard]] virtual Reading read(std::span<const std::string> bodies) const;
  /// The request field whose value, 0 to N - 1, sends a request to one of N data-parallel ranks, before any balancing
  /// of the engine's own; "" = this kind has none.
  [[nodiscard]] virtual std::string_view rank_field() const { return {}; }

  /// GET answers a JSON object whose member "version" is the engine's; "" = this kind does not tell.
  [[nodiscard]] virtual std::string_view version_path() const { return {}; }
  /// In-flight limit while neither the operator nor the engine tells one: the engine's own default.
  [[nodiscard]] virtual std::int64_t default_max_in_flight() const = 0;
  /// Idle upstream connections are dropped before this; a second less than the engine's own limit.
  [[nodiscard]] virtual Duration idle_keep_alive() const { return std::chrono::seconds(4); }
};

[[nodiscard]] const Adapter& adapter(Kind kind);

}  // namespace evenkeel::engines
