#include "gateway/attempt.hpp"

#include <fmt/format.h>

namespace evenkeel::gateway {

using fleet::Outcome;
using http::IoStatus;

Attempt::Attempt(Shard& shard, ClientSide& client, Request& request, const Upstream& upstream, fleet::Lease& lease,
                 bool fresh_connection, Leg leg)
    : shard_(shard),
      client_(client),
      request_(request),
      upstream_(upstream),
      lease_(lease),
      leg_(leg),
      fiber_(client.fiber),
      spans_(shard.chunk_spans),
      out_(shard.out_parts),
      scan_(request.endpoint.dialect) {
  if (leg_ == Leg::beside) {
    append_upstream_head(own_request_, request_, upstream_, shard_.shared.settings);
    own_request_ += request_.body;
  }
  open_connection(fresh_connection);
  if (reused_) send_request();
}

void Attempt::open_connection(bool fresh) {
  if (!fresh) {
    if (auto idle = shard_.pool(upstream_).take(now())) {
      stream_ = std::move(*idle);
      reused_ = true;
      shard_.counters.upstream_reuses.add();
    }
  }
  if (!reused_) {
    stream_ = http::Stream::begin_connect(shard_.loop, upstream_.address);
    shard_.counters.upstream_connects.add();
  }
  stream_.bind(&fiber_);
  stage_ = reused_ ? Stage::sending : Stage::connecting;
  stage_deadline_ = reused_ ? Time::max() : deadline_after(now(), request_.timeouts.connect);
}

bool Attempt::advance() {
  if (stage_ != Stage::done) turn();
  if (stage_ != Stage::done) {
    fiber_.set_deadline(deadline());
    return false;
  }
  fiber_.clear_deadline();
  shard_.spares.give(answer_head_);
  shard_.spares.give(body_tail_);
  return true;
}

AttemptResult Attempt::take_result() { return std::move(result_); }

void Attempt::turn() {
  out_.clear();  // the shard's: another attempt may have left views in it
  if (client_.gone()) return cancel();
  if (shard_.cutting) return fail(Outcome::cancelled, "shutting_down");
  if (stage_ == Stage::connecting) {
    const IoStatus status = stream_.try_connected();
    if (status == IoStatus::failed) return fail(Outcome::transport_fault, "connect_failed");
    if (status == IoStatus::ok) send_request();
  }
  if (stage_ == Stage::sending) send_more_body();
  if (stage_ == Stage::done) return;
  if (leg_ != Leg::beside && !client_.outbox.flush()) return cancel();
  if (stage_ != Stage::connecting) read_answer();
  if (stage_ != Stage::done) check_deadlines();
}

void Attempt::send_request() {
  if (leg_ == Leg::beside) {
    shard_.counters.bytes_up.add(request_.up_length);
    stage_ = Stage::sending;
    stage_deadline_ = Time::max();
    const std::string_view whole = own_request_;
    (void)up_.put({&whole, 1});
    std::string().swap(own_request_);
    return send_more_body();
  }
  std::string& head = shard_.head_scratch;
  head.clear();
  append_upstream_head(head, request_, upstream_, shard_.shared.settings);
  std::string frame;
  std::string_view frame_end;
  if (request_.chunked_up && !request_.body.empty()) {
    frame = fmt::format("{:x}\r\n", request_.body.size());
    frame_end = "\r\n";
  }
  const bool last = client_.body == nullptr;
  const std::string_view parts[] = {head, frame, request_.body, frame_end,
                                    request_.chunked_up && last ? "0\r\n\r\n" : ""};
  shard_.counters.bytes_up.add(request_.body.size());
  stage_ = Stage::sending;
  stage_deadline_ = Time::max();
  if (request_.streamed) result_.body_gone = true;
  (void)up_.put(parts);  // a broken connection shows when its answer is read
  send_more_body();
}

void Attempt::send_more_body() {
  // Piece by piece: nothing more is read from the client than the engine has taken.
  while (stage_ == Stage::sending) {
    if (!up_.flush()) break;
    if (!up_.clear()) return;
    if (client_.body == nullptr) break;
    std::string_view raw = client_.in;
    if (raw.empty()) {
      const auto scratch = http::scratch_buffer();
      const auto got = client_.stream.try_read(scratch);
      if (got.status == IoStatus::would_block) {
        if (stage_deadline_ == Time::max())
          stage_deadline_ = deadline_after(now(), shard_.shared.settings.limits.body_timeout);
        return;
      }
      if (got.status != IoStatus::ok) return cancel();
      stage_deadline_ = Time::max();
      raw = {scratch.data(), got.bytes};
    }
    BodyStream& body = *client_.body;
    std::size_t consumed = 0;
    const auto status = body.take(raw, consumed);
    request_.body_bytes += consumed;
    if (status == BodyStream::Status::malformed) return fail(Outcome::client_fault, "malformed_body");
    if (status == BodyStream::Status::too_large) return fail(Outcome::client_fault, "body_too_large");
    const std::string_view ready = body.ready();
    shard_.counters.bytes_up.add(ready.size());
    std::string frame;
    if (request_.chunked_up && !ready.empty()) frame = fmt::format("{:x}\r\n", ready.size());
    const bool done = status == BodyStream::Status::done;
    const std::string_view parts[] = {frame, ready, frame.empty() ? "" : "\r\n",
                                      request_.chunked_up && done ? "0\r\n\r\n" : ""};
    const bool fine = up_.put(parts);
    std::string rest(raw.substr(consumed));
    client_.in.swap(rest);
    if (done) {
      shard_.counters.transfer_edits.add(body.skim().blanks().size());
      client_.body = nullptr;
    }
    if (!fine) break;
  }
  if (stage_ != Stage::sending) return;
  stage_ = Stage::awaiting;
  stage_deadline_ = deadline_after(now(), request_.timeouts.first_byte);
}

void Attempt::read_answer() {
  for (int reads = 0; reads < 16; ++reads) {
    if (leg_ != Leg::beside && !client_.outbox.clear()) return;  // the client is slower: wait for it
    const auto scratch = http::scratch_buffer();
    const auto got = stream_.try_read(scratch);
    switch (got.status) {
      case IoStatus::would_block: return heartbeat();
      case IoStatus::ok:
        if (!any_byte_) shard_.spares.lend_fields(parser_);
        any_byte_ = true;
        take_bytes({scratch.data(), got.bytes});
        break;
      case IoStatus::end: return upstream_ended();
      default: return fail(Outcome::transport_fault, "reset");
    }
    if (stage_ == Stage::done) return;
    if (!stream_.has_news()) return heartbeat();  // a short read drained it
  }
  fiber_.wake();  // the others on this loop want their turn
}

void Attempt::take_bytes(std::string_view bytes) {
  if (stage_ == Stage::relaying) {
    stage_deadline_ = deadline_after(now(), request_.timeouts.silence);
    take_body(bytes);
  } else {
    take_head(bytes);
  }
  if (stage_ != Stage::done) flush_out();
}

void Attempt::upstream_ended() {
  if (stage_ == Stage::relaying && parser_.head().body == http::BodyKind::until_close) {
    body_complete();
    if (stage_ != Stage::done) flush_out();
    return;
  }
  if (stage_ == Stage::relaying && scan_.ended()) {  // the stream said that it is whole; its framing does not matter
    body_complete();
    if (stage_ != Stage::done) flush_out();
    return;
  }
  fail(Outcome::transport_fault, any_byte_ ? "cut_short" : "closed_without_answer");
}

Time Attempt::deadline() const {
  const Time total = deadline_after(request_.arrived, request_.timeouts.total);
  return std::min({stage_deadline_, total, next_heartbeat_});
}

void Attempt::check_deadlines() {
  if (now() >= deadline_after(request_.arrived, request_.timeouts.total))
    return fail(Outcome::transport_fault, "total_timeout", true);
  if (now() < stage_deadline_) return;
  switch (stage_) {
    case Stage::connecting: return fail(Outcome::transport_fault, "connect_timeout", true);
    case Stage::sending: return fail(Outcome::client_fault, "body_timeout", true);
    case Stage::awaiting: return fail(Outcome::transport_fault, "first_byte_timeout", true);
    case Stage::relaying:
      return fail(Outcome::transport_fault, committed_ ? "silence_timeout" : "first_byte_timeout", true);
    case Stage::done: return;
  }
}

void Attempt::cancel() {
  const Time seen = now();
  stream_.close();
  shard_.counters.cancel.observe(shard_.loop.refresh_now() - seen);
  // A client that leaves once it has the true end took a whole answer.
  const bool had_all = committed_ && scan_.ended() && client_.outbox.clear();
  result_.fault = had_all ? "" : "client_gone";
  result_.answered = committed_;
  settle_usage(scan_.usage());
  end(had_all && !scan_.failed() ? Outcome::completed : Outcome::cancelled);
}

void Attempt::fail(Outcome outcome, std::string_view fault, bool timed_out) {
  result_.fault = fault;
  result_.timed_out = timed_out;
  result_.reused_gave_nothing = reused_ && !any_byte_ && !timed_out && outcome == Outcome::transport_fault;
  stream_.close();
  if (committed_) {
    flush_out();  // what was whole before the fault was seen
    if (stage_ == Stage::done) return;
    shard_.counters.streams_cut.add();
    cut_stream(outcome == Outcome::cancelled ? "The router is shutting down." : "The engine's answer was cut short.");
  }
  result_.answered = committed_;
  settle_usage(scan_.usage());
  end(outcome);
}

void Attempt::abandon(std::string_view fault) {
  const Time seen = now();
  stream_.close();
  shard_.counters.cancel.observe(shard_.loop.refresh_now() - seen);
  shard_.counters.legs_cancelled.add();
  result_.fault = fault;
  if (committed_) {
    out_.clear();
    shard_.counters.streams_cut.add();
    cut_stream("The other leg of this request failed.");
  }
  result_.answered = committed_;
  settle_usage(scan_.usage());
  end(Outcome::cancelled);
}

void Attempt::end(Outcome outcome) {
  result_.outcome = outcome;
  stage_ = Stage::done;
}

}  // namespace evenkeel::gateway
