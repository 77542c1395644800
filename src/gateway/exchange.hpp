#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/attempt.hpp"

namespace evenkeel::gateway {

class PostedVerdict;

/// A request's way through the pipeline once it has been read and understood: submitted, waiting, tried at one worker
/// after another, answered, booked. After run() the request has exactly one outcome and the client its whole answer,
/// an explicit error, or a connection that visibly broke.
class Exchange {
 public:
  Exchange(Shard& shard, ClientSide& client, Request& request) : shard_(shard), client_(client), request_(request) {}

  /// To whichever worker the dispatcher gives.
  http::Task<void> run();
  /// To this one worker of `fleet`, without the dispatcher's choice: it owns what the path names, or is the only one.
  http::Task<void> run_at(std::shared_ptr<const FleetMap> fleet, const Upstream& upstream);

 private:
  /// Until the dispatcher has told: then `decision` is its grant, or refused_ its refusal, or the client is gone.
  http::Task<void> wait_for(std::shared_ptr<PostedVerdict> verdict, dispatch::Decision& decision);
  http::Task<AttemptResult> try_worker(const Upstream& upstream, fleet::Lease& lease);
  /// Notes that this request goes there no more.
  void exclude(const Upstream& upstream, fleet::Outcome outcome);
  [[nodiscard]] bool may_retry(const AttemptResult& result);
  [[nodiscard]] bool retryable(const AttemptResult& result) const;
  http::Task<void> back_off();
  void book(AttemptResult& result);
  void answer_failure(AttemptResult& result);
  void answer_refusal();

  Shard& shard_;
  ClientSide& client_;
  Request& request_;
  dispatch::Submission submission_;
  std::optional<dispatch::Refused> refused_;
};

/// Writes a whole answer of our own to the client: status, fields of ours, body.
void answer_whole(Shard& shard, ClientSide& client, Request& request, int status, std::string_view content_type,
                  std::string_view body, std::string_view extra_fields = {});
void answer_json(Shard& shard, ClientSide& client, Request& request, int status, std::string_view body,
                 std::string_view extra_fields = {});
/// The same for a failure, in the endpoint's shape.
struct ApiError;
void answer_error(Shard& shard, ClientSide& client, Request& request, const ApiError& error,
                  std::string_view extra_fields = {});

}  // namespace evenkeel::gateway
