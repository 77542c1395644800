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
  using Grant = std::optional<dispatch::Granted>;
  enum class Way : std::uint8_t { on, again, over };
  /// What a prefill worker told for whoever decodes. Serves once: what it points at may be another request's a moment
  /// later.
  struct HandOver {
    std::string params;  ///< empty: there is nothing to take over, the decode worker prefills
    Time until{};        ///< from here on it is not used
  };
  /// Of a request whose prefill and decode are on separate workers.
  struct Split {
    dispatch::Submission prefill;  ///< of the first leg
    std::optional<HandOver> handed;
    WorkerId prefilled_at;
    bool together = false;          ///< both legs at once
    bool took_over = false;         ///< the last decode worker was told of KV
    bool fresh_connection = false;  ///< what is told once is not told into a connection that may have died
  };

  /// Both legs of an attempt, at once.
  struct Meeting {
    std::shared_ptr<const Upstream> prefill, decode;
    fleet::Lease at_prefill, at_decode;
    AttemptResult prefilled, decoded;
    bool fresh = false;  ///< over new connections
  };

  void describe();
  void take_receipt(const dispatch::Granted& granted);
  http::Task<void> run_whole();
  [[nodiscard]] dispatch::Decision ask(const dispatch::Submission& what, std::shared_ptr<PostedVerdict>& verdict);
  /// Until the dispatcher has told: then `decision` is its grant, or refused_ its refusal, or the client is gone.
  http::Task<void> wait_for(std::shared_ptr<PostedVerdict> verdict, dispatch::Decision& decision);
  http::Task<AttemptResult> try_worker(const Upstream& upstream, fleet::Lease& lease, Leg leg = Leg::answer);
  /// Notes that `what` goes there no more.
  void exclude(dispatch::Submission& what, const Upstream& upstream, fleet::Outcome outcome) const;
  [[nodiscard]] bool may_retry(const AttemptResult& result, const dispatch::Submission& what);
  /// Charges for one and pauses; `over` and booked if none may be made or the client went meanwhile.
  http::Task<Way> retry(AttemptResult& result, const dispatch::Submission& what);

  // prefill.cpp: prefill and decode on separate workers
  void split();
  http::Task<void> run_split();
  /// The dispatcher's grant; or none, and then refused_ is its refusal, or the client is gone.
  http::Task<void> obtain(const dispatch::Submission& what, Grant& granted);
  http::Task<Way> prefill(AttemptResult& result);
  /// Makes the body that goes to the decode worker. What was handed over is used up.
  void take_over();
  void suspect_prefill();
  [[nodiscard]] bool took_over() const { return split_ != nullptr && split_->took_over; }
  /// Its turn came so late that the KV may be gone.
  [[nodiscard]] bool too_late() const;

  // meeting.cpp: both at once
  [[nodiscard]] bool can_meet() const;
  /// To a request that its workers can only serve split, and that cannot be.
  void answer_inseparable();
  http::Task<void> run_together();
  http::Task<Way> place_both(Meeting& at, AttemptResult& result);
  http::Task<void> meet(Meeting& at);
  /// Makes the body that goes to both.
  void draw_room(const Upstream& prefill);
  /// Until both have ended: with the first that fails the other is ended, too.
  http::Task<void> run_legs(Meeting& at);
  void note_prefilled(Meeting& at, Time begun);

  // exchange_peers.cpp: between routers
  /// What the dispatcher must know of a request that a peer forwarded, or that may not be forwarded to one.
  void describe_to_peers();
  /// Nobody here could serve what a peer forwarded, and nothing goes further than to a peer.
  [[nodiscard]] bool is_lost() const;
  http::Task<void> answer_lost();
  void go_to(const Upstream& upstream);
  /// After an attempt: ends what is counted of it, but for the lease, which is ended last.
  void end_lease(fleet::Lease& lease, const Upstream& upstream, const AttemptResult& result);
  /// It waits here again, at its old place, as if it had never been sent to `upstream`.
  void take_back(RequestId lease, const Upstream& upstream);
  /// Whether a peer could not be connected to, or broke the connection off, and another worker may serve the request.
  /// That is no engine's load, so it costs no retry; all that such a peer had comes back at once.
  [[nodiscard]] bool was_lost(const Upstream& upstream, const AttemptResult& result) const;
  /// In the waiting pool it stands as if it had not left it.
  void keep_place(RequestId lease);
  /// Of a request whose prefill and decode are on separate workers: both are of this router.
  void keep_here();
  /// Before a refusal: whether the router that forwarded the request takes it back.
  [[nodiscard]] bool refuse_among_peers();
  void note_failed(const Upstream& upstream, const AttemptResult& result);
  /// Whether the answer to this failure lists all attempts.
  [[nodiscard]] bool failed_everywhere(const AttemptResult& result) const;
  void answer_all_failed();

  [[nodiscard]] bool retryable(const AttemptResult& result) const;
  http::Task<void> back_off();
  void book(AttemptResult& result);
  void answer_failure(AttemptResult& result);
  /// To a request that has no worker: the last failure tells more than that there is no other, a refusal, or nothing if
  /// the client is gone.
  void answer_unplaced(AttemptResult& result);
  void answer_refusal();

  Shard& shard_;
  ClientSide& client_;
  Request& request_;
  dispatch::Submission submission_;
  std::optional<dispatch::Refused> refused_;
  std::unique_ptr<Split> split_;  ///< null: the request stays whole
  bool inseparable_ = false;      ///< and may not: nobody can serve it
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
