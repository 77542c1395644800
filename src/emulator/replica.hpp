#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/faults.hpp"
#include "emulator/live_engine.hpp"
#include "emulator/metrics.hpp"
#include "emulator/options.hpp"
#include "emulator/request.hpp"
#include "emulator/shape.hpp"
#include "http/server.hpp"

namespace evenkeel::emulator {

/// One emulated engine behind one port. Loop thread only.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  /// `options` must be valid; `port` 0 takes a free one.
  [[nodiscard]] static Result<std::shared_ptr<Replica>> open(http::EventLoop& loop, const EmulatorOptions& options,
                                                             std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const { return address_.port(); }
  /// Lets go of the server. The loop must not run after it.
  void close() { servers_.clear(); }

 private:
  struct Counters {
    std::int64_t received = 0;   ///< generation requests that were taken
    std::int64_t completed = 0;  ///< answered to their end
    std::int64_t aborted = 0;    ///< their client went first
    std::int64_t faulted = 0;    ///< a fault ended them
    std::int64_t in_flight = 0;  ///< HTTP requests, as /load counts them
  };
  struct Run;

  Replica(http::EventLoop& loop, const EmulatorOptions& options, std::shared_ptr<LiveEngine> engine);
  Result<void> listen(const http::Address& at);
  static http::Task<void> pause_listening(http::Fiber& fiber, std::shared_ptr<Replica> self, Duration time);

  http::Task<void> handle(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> inference(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> control(const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> show(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> set_faults(const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> stored_response(const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> embeddings(const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> tokens(const http::ServerRequest& request, http::Responder& responder);
  http::Task<void> count_tokens(const http::ServerRequest& request, http::Responder& responder);

  /// generation.cpp
  http::Task<void> generate(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder,
                            Endpoint endpoint);
  http::Task<void> follow(Run& run, http::Responder& responder);
  void deliver(Run& run, std::span<const Output> batch, std::string& out);
  http::Task<void> finish(Run& run, http::Responder& responder);
  [[nodiscard]] std::string make_id(const http::ServerRequest& request, const GenerationRequest& generation);
  void remember(std::string id, std::string body);

  http::Task<bool> refuse(http::Responder& responder, const ApiError& error, Endpoint endpoint = Endpoint::chat);
  void apply(const Faults& faults);
  [[nodiscard]] std::string models_json() const;
  [[nodiscard]] std::string state_json() const;

  http::EventLoop& loop_;
  EmulatorOptions options_;
  std::shared_ptr<LiveEngine> engine_;
  http::Address address_;  ///< with the actual port
  /// The last one listens; the others wait for their connections to end.
  std::vector<std::unique_ptr<http::Server>> servers_;
  FaultBox faults_;
  Counters counters_;
  std::vector<RequestTimes> times_;  ///< by rank
  Random ids_;
  std::int64_t created_;                                    ///< Unix seconds
  std::deque<std::pair<std::string, std::string>> stored_;  ///< the last answers of /v1/responses, by id
  bool listening_paused_ = false;
};

}  // namespace evenkeel::emulator
