#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "engines/kv_event_feed.hpp"

namespace evenkeel::gateway {

/// Where one rank publishes: as vLLM and SGLang number them, the port of `endpoint` plus the rank. Errors: a port that
/// goes beyond 65535, or an endpoint without a port and a rank other than the first.
[[nodiscard]] Result<std::string> kv_endpoint_of_rank(std::string_view endpoint, std::uint32_t rank);

/// Receives the KV-cache events of all workers that have some, over ZeroMQ, on one thread of its own, and hands them to
/// their feeds. The thread begins with the first worker. Thread-safe.
class KvSubscriber {
 public:
  /// `emptied` is told on that thread of a worker whose cache was emptied.
  using Emptied = std::function<void(WorkerId)>;
  KvSubscriber(const Clock& clock, Emptied emptied);
  ~KvSubscriber();
  KvSubscriber(const KvSubscriber&) = delete;
  KvSubscriber& operator=(const KvSubscriber&) = delete;

  /// From now on the events of `worker`, which must not be followed yet. `events`: where it publishes; with a `*` for
  /// its host the engine connects, and this binds. `replay`: where it can be asked again, or empty. Error: what ZeroMQ
  /// says of an endpoint.
  [[nodiscard]] Result<std::shared_ptr<engines::KvEventFeed>> follow(WorkerId worker, const std::string& events,
                                                                     const std::string& replay, std::size_t capacity);
  void leave(WorkerId worker);
  using Statuses = std::vector<std::pair<WorkerId, engines::KvFeedStatus>>;
  [[nodiscard]] Statuses statuses() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace evenkeel::gateway
