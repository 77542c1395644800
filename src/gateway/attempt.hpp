#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/books.hpp"
#include "gateway/answer_scan.hpp"
#include "gateway/client_side.hpp"
#include "gateway/heads.hpp"
#include "gateway/request.hpp"
#include "gateway/shard.hpp"
#include "http/message.hpp"
#include "http/sse.hpp"

namespace evenkeel::gateway {

/// The fault of an engine that refused the rank it was addressed at; another rank may take the request.
inline constexpr std::string_view rank_refused = "rank_refused";

/// What an attempt is for. Its answer is the client's (`answer`), or that of a prefill worker, which is gathered for
/// the router (`prefill`), or the same of one that works while another attempt has the client's (`beside`): what it
/// needs of the request it takes at its beginning, and of what it learns it tells only its lease.
enum class Leg : std::uint8_t { answer, prefill, beside };

/// How one attempt at one worker ended.
struct AttemptResult {
  fleet::Outcome outcome = fleet::Outcome::transport_fault;
  int status = 0;          ///< the engine's, or what it comes to; 0 = it never answered
  std::string_view fault;  ///< a literal, for the log
  bool timed_out = false;
  bool answered = false;             ///< bytes of this attempt have reached the client; nothing may follow but its end
  bool whole = false;                ///< answered, and the answer is whole: the client's connection is fit for the next
  bool reused_gave_nothing = false;  ///< a kept connection died before its first byte: the request is not to blame
  bool sent_back = false;            ///< by a peer that had no slot for it: nothing was tried
  bool body_gone = false;            ///< streamed body bytes have gone up: it cannot be sent again
  std::string held_head;             ///< an engine's error answer, complete and not yet sent: head
  std::string held_body;             ///< and body, framed; or a prefill worker's answer
};

/// One attempt: connects or reuses, sends the request, relays the answer as it comes, feeds the lease. The bytes of
/// bodies pass untouched; streams are only looked at. Nothing here waits: the caller does, between two calls of
/// advance(), so that the client's going, the engine's dying and every deadline are seen in whatever state it is in.
class Attempt {
 public:
  Attempt(Shard& shard, ClientSide& client, Request& request, const Upstream& upstream, fleet::Lease& lease,
          bool fresh_connection, Leg leg = Leg::answer);

  /// Does what can be done now. True once the attempt has ended; else the fiber must wait before the next call, until
  /// deadline() at most, which is set for it.
  bool advance();
  [[nodiscard]] Time deadline() const;
  /// What it was for has failed elsewhere: ends at once, and nobody there is to blame.
  void abandon(std::string_view fault);
  /// The client has something of the answer itself, not only its head or heartbeats.
  [[nodiscard]] bool content_sent() const { return committed_ && (mode_ == Mode::plain || scan_.content_events() > 0); }
  [[nodiscard]] AttemptResult take_result();

 private:
  enum class Stage : std::uint8_t { connecting, sending, awaiting, relaying, done };
  enum class Mode : std::uint8_t {
    plain,   ///< bytes pass as they come
    events,  ///< an event stream whose ends we know
    held,    ///< an error answer, gathered until it is known whether to send it, or a prefill worker's
  };

  // attempt.cpp: the upstream side
  void turn();
  void open_connection(bool fresh);
  void send_request();
  void send_more_body();
  void read_answer();
  void take_bytes(std::string_view bytes);
  void upstream_ended();
  void check_deadlines();
  void cancel();
  void fail(fleet::Outcome outcome, std::string_view fault, bool timed_out = false);
  void end(fleet::Outcome outcome);
  [[nodiscard]] Time now() const { return shard_.loop.now(); }

  // relay.cpp: the answer
  void take_head(std::string_view bytes);
  void take_peer_head(std::string_view bytes);
  void take_body(std::string_view bytes);
  void take_data(std::string_view data);
  void take_events(std::string_view data);
  bool take_event(std::string_view event);
  void first_event_failed(std::string_view event);
  [[nodiscard]] bool blames_rank(std::string_view error);
  void body_complete();
  void commit();
  void commit_head();
  void cut_stream(std::string_view message);
  void flush_out();
  void note_first_byte();
  void note_cached(std::int64_t told);
  void settle_usage(const std::optional<Usage>& usage);
  void gathered_beside(bool reusable);
  void remember_response_id(std::string_view bytes);
  void heartbeat();

  Shard& shard_;
  ClientSide& client_;
  Request& request_;
  const Upstream& upstream_;
  fleet::Lease& lease_;
  const Leg leg_;
  http::Fiber& fiber_;

  // Upstream.
  http::Stream stream_;
  http::MessageParser parser_{http::MessageParser::Direction::response};
  Stage stage_ = Stage::connecting;
  bool reused_ = false;
  Outbox up_{stream_};
  std::string own_request_;  ///< of an attempt beside another: head and body, until they are sent
  Time stage_deadline_ = Time::max();
  bool any_byte_ = false;

  // The answer.
  Mode mode_ = Mode::plain;
  std::string head_bytes_;   ///< of a head that came in pieces
  std::string answer_head_;  ///< as the client gets it, until committed
  bool committed_ = false;
  AnswerStyle style_;
  std::uint64_t left_ = 0;  ///< of a body of known length
  bool body_done_ = false;
  std::vector<std::string_view>& spans_;  ///< of decoded chunks; the shard's
  std::vector<std::string_view>& out_;    ///< payload to go out at the end of this read; the shard's
  http::EventBoundaries boundaries_;
  StreamScan scan_;
  std::string early_;         ///< comments that came before the first event
  std::string event_tail_;    ///< an event not yet whole
  std::string joined_;        ///< the event that was completed by this read
  bool tail_passed_ = false;  ///< the open event is too long to hold: its bytes pass as they come
  std::string body_tail_;     ///< the end of a plain answer, where usage stands
  std::string held_;
  Time next_heartbeat_ = Time::max();
  AttemptResult result_;
};

}  // namespace evenkeel::gateway
