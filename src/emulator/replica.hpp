#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/bootstrap.hpp"
#include "emulator/faults.hpp"
#include "emulator/kv_handoff.hpp"
#include "emulator/live_engine.hpp"
#include "emulator/metrics.hpp"
#include "emulator/options.hpp"
#include "emulator/request.hpp"
#include "emulator/shape.hpp"
#include "emulator/state_page.hpp"
#include "http/server.hpp"

namespace evenkeel::emulator {

/// One endpoint of an emulated engine: all its ranks, or one of them, behind one port. Loop thread only.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  /// `options` must be valid; `port` 0 takes a free one. `own_rank`: the one rank that it serves.
  [[nodiscard]] static Result<std::shared_ptr<Replica>> open(http::EventLoop& loop, const EmulatorOptions& options,
                                                             std::uint16_t port, std::shared_ptr<LiveEngine> engine,
                                                             std::optional<std::size_t> own_rank);
  [[nodiscard]] std::uint16_t port() const { return address_.port(); }
  /// Lets go of the server. The loop must not run after it.
  void close();

 private:
  struct Run;
  struct KvErrand;
  class KeptKv;
  class Submitted;

  Replica(http::EventLoop& loop, const EmulatorOptions& options, std::shared_ptr<LiveEngine> engine,
          std::optional<std::size_t> own_rank);
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
  [[nodiscard]] tl::expected<std::optional<std::size_t>, ApiError> rank_of(const http::ServerRequest& request) const;
  http::Task<void> generate(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder,
                            Endpoint endpoint);
  http::Task<void> follow(Run& run, http::Responder& responder);
  void deliver(Run& run, std::span<const Output> batch, std::string& out);
  http::Task<void> finish(Run& run, http::Responder& responder);
  [[nodiscard]] bool submit(Run& run, Submitted& submitted, KeptKv& kept);
  [[nodiscard]] std::string make_id(const http::ServerRequest& request, const GenerationRequest& generation);
  void remember(std::string id, std::string body);

  /// generation_kv.cpp
  [[nodiscard]] std::optional<ApiError> enter_room(KvErrand& kv, const GenerationRequest& request,
                                                   std::vector<Sequence>& sequences, http::Fiber& fiber);
  http::Task<void> await_room(Run& run, http::Responder& responder);
  void begin_errand(Run& run);
  /// Until something may have happened; meanwhile looks after KV that lies elsewhere.
  http::Task<void> await_more(Run& run, http::Responder& responder, engine::RequestId id);
  http::Task<void> take_kv(Run& run, http::Responder& responder, engine::RequestId id);

  http::Task<bool> refuse(http::Responder& responder, const ApiError& error, Endpoint endpoint = Endpoint::chat);
  void apply(const Faults& faults);
  void take_role(KvOptions kv);
  [[nodiscard]] std::string models_json() const;
  [[nodiscard]] std::string metrics_text() const;
  [[nodiscard]] std::size_t connections() const;

  http::EventLoop& loop_;
  EmulatorOptions options_;
  std::shared_ptr<LiveEngine> engine_;
  std::optional<std::size_t> own_rank_;
  std::shared_ptr<KvHandoff> kv_;  ///< null without a role, as the next
  std::shared_ptr<Bootstrap> bootstrap_;
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
