// The answer's way: head, body and events from the engine to the client.
#include <charconv>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engines/errors.hpp"
#include "gateway/attempt.hpp"
#include "gateway/breakers.hpp"
#include "gateway/error_body.hpp"

namespace evenkeel::gateway {

using fleet::Outcome;
using http::BodyKind;
using http::ParseStatus;

namespace {
constexpr std::size_t held_limit = 64U << 10U;        // of an error answer that is gathered before it is sent
constexpr std::size_t handed_limit = 1U << 20U;       // of a prefill worker's answer
constexpr std::size_t event_hold_limit = 64U << 10U;  // of an event that is not whole
constexpr std::size_t tail_limit = 4U << 10U;         // of a plain answer, to find its usage in
}  // namespace

void Attempt::take_head(std::string_view bytes) {
  while (true) {
    std::string_view buffer = bytes;
    if (!head_bytes_.empty()) {
      head_bytes_ += bytes;
      buffer = head_bytes_;
    }
    const ParseStatus status = parser_.parse_head(buffer);
    if (status == ParseStatus::need_more) {
      if (head_bytes_.empty()) head_bytes_ = bytes;
      return;
    }
    if (status == ParseStatus::too_large) return fail(Outcome::worker_fault, "head_too_large");
    if (status == ParseStatus::malformed) return fail(Outcome::worker_fault, "malformed_head");
    if (parser_.head().status >= 200) break;
    if (parser_.head().status == 101) return fail(Outcome::worker_fault, "unasked_upgrade");
    std::string rest(buffer.substr(parser_.head().size));  // an interim answer: passed over
    parser_.next();
    head_bytes_ = std::move(rest);
    bytes = {};
    if (head_bytes_.empty()) return;
  }
  const std::string held = std::move(head_bytes_);
  const std::string_view buffer = held.empty() ? bytes : std::string_view(held);
  const http::Head& head = parser_.head();
  result_.status = head.status;
  stage_ = Stage::relaying;

  if (upstream_.peer != nullptr) take_peer_head(buffer);
  const auto type = head.find(buffer, http::FieldName::content_type).value_or("");
  const bool encoded = head.has(http::FieldName::content_encoding);
  const bool is_events = type.size() >= 17 && equals_ignoring_case(type.substr(0, 17), "text/event-stream");
  const bool bodyless = request_.head_only || head.body == BodyKind::none;
  if (leg_ != Leg::answer && bodyless) return fail(Outcome::worker_fault, "answer_without_body");
  if ((head.status >= 400 && !bodyless) || leg_ != Leg::answer) {
    mode_ = Mode::held;
  } else if (is_events && !encoded && !bodyless && request_.endpoint.dialect != Dialect::opaque) {
    mode_ = Mode::events;
    next_heartbeat_ = deadline_after(now(), shard_.shared.settings.heartbeat);
  }
  style_.event_stream = is_events;
  style_.keep_alive = client_.keep_alive;
  if (bodyless) {
    style_.framing =
        head.content_length > 0 || head.has(http::FieldName::content_length) ? Framing::length : Framing::none;
    style_.length = head.content_length;
    if (head.status == 204) style_.framing = Framing::none;
  } else if (head.body == BodyKind::length && mode_ != Mode::events) {
    style_.framing = Framing::length;
    style_.length = head.content_length;
  } else if (request_.http10) {
    style_.framing = Framing::until_close;
    style_.keep_alive = false;
  } else {
    style_.framing = Framing::chunked;
  }
  left_ = head.body == BodyKind::length ? head.content_length : 0;
  answer_head_ = shard_.spares.string();
  append_answer_head(answer_head_, head, buffer, request_, shard_.shared.settings, style_);
  shard_.spares.take_fields(parser_);
  // Beside another leg the first event comes when that has been met.
  const bool events = mode_ == Mode::events || (leg_ == Leg::beside && is_events);
  stage_deadline_ =
      events ? deadline_after(now(), request_.timeouts.first_byte) : deadline_after(now(), request_.timeouts.silence);

  if (bodyless) return body_complete();
  take_body(buffer.substr(head.size));
  if (stage_ != Stage::done && held.size() > 0) flush_out();  // its views die with `held`
}

/// What another router says to this one with its answer.
void Attempt::take_peer_head(std::string_view bytes) {
  const http::Head& head = parser_.head();
  if (request_.peers == nullptr || !upstream_.peer->evenkeel) return;
  const auto told = head.find(bytes, peer_field::load);
  const std::optional<PeerLoad> load = told ? read_load(*told) : std::nullopt;
  PeerBoard::Dispatch& dispatch = request_.peers->there;
  result_.sent_back = head.status >= 400 && head.find(bytes, peer_field::sent_back) == "1";
  if (result_.sent_back) {
    const auto why = head.find(bytes, "X-Evenkeel-Refusal");
    if (why == fleet::to_string(fleet::Refusal::pressure)) dispatch.declined();
    dispatch.sent_back(load);
  } else if (load) {
    dispatch.heard(*load);
  }
}

void Attempt::take_body(std::string_view bytes) {
  if (bytes.empty() && !(parser_.head().body == BodyKind::length && left_ == 0)) return;
  bool extra = false;
  switch (parser_.head().body) {
    case BodyKind::length: {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      extra = size < bytes.size();
      left_ -= size;
      take_data(bytes.substr(0, size));
      body_done_ = left_ == 0;
      break;
    }
    case BodyKind::chunked: {
      spans_.clear();
      const auto chunks = parser_.decode_chunks(bytes, spans_);
      for (const auto span : spans_) {
        take_data(span);
        if (stage_ == Stage::done) return;
      }
      if (chunks.status == ParseStatus::malformed) return fail(Outcome::worker_fault, "malformed_chunks");
      body_done_ = chunks.status == ParseStatus::done;
      extra = chunks.consumed < bytes.size();
      break;
    }
    case BodyKind::until_close: take_data(bytes); break;
    case BodyKind::none: break;
  }
  if (stage_ == Stage::done) return;
  if (body_done_) {
    if (extra) stream_.close();  // bytes behind the answer: this connection is not to be trusted
    body_complete();
  }
}

void Attempt::take_data(std::string_view data) {
  if (data.empty()) return;
  switch (mode_) {
    case Mode::held:
      if (held_.size() + data.size() <= (result_.status < 400 ? handed_limit : held_limit)) {
        held_ += data;
        return;
      }
      if (result_.status < 400 || leg_ == Leg::beside) return fail(Outcome::worker_fault, "answer_too_large");
      mode_ = Mode::plain;  // too long to be a note about an error: it passes as it is
      commit();
      joined_ = std::move(held_);
      out_.push_back(joined_);
      out_.push_back(data);
      return;
    case Mode::plain:
      commit();
      note_first_byte();
      if (request_.endpoint.dialect == Dialect::responses && request_.bytes_out == 0) remember_response_id(data);
      if (body_tail_.empty()) body_tail_ = shard_.spares.string();
      if (body_tail_.size() + data.size() > 2 * tail_limit) {
        if (data.size() >= tail_limit) {
          body_tail_.assign(data.substr(data.size() - tail_limit));
        } else {
          body_tail_.erase(0, body_tail_.size() - std::min(body_tail_.size(), tail_limit));
          body_tail_ += data;
        }
      } else if (request_.endpoint.dialect != Dialect::opaque) {
        body_tail_ += data;
      }
      out_.push_back(data);
      return;
    case Mode::events: take_events(data); return;
  }
}

void Attempt::take_events(std::string_view data) {
  std::size_t from = 0;
  while (stage_ != Stage::done) {
    const std::size_t end = boundaries_.next(data, from);
    if (end == http::EventBoundaries::npos) break;
    const std::string_view piece = data.substr(from, end - from);
    from = end;
    if (tail_passed_) {  // the end of an event that was too long to hold; it has been sent up to here
      tail_passed_ = false;
      out_.push_back(piece);
      continue;
    }
    if (event_tail_.empty()) {
      if (take_event(piece)) out_.push_back(piece);
      continue;
    }
    event_tail_ += piece;
    joined_ = std::move(event_tail_);  // at most one event a read was begun in an earlier one
    event_tail_.clear();
    if (take_event(joined_)) out_.push_back(joined_);
  }
  if (stage_ == Stage::done || from == data.size()) return;
  const std::string_view rest = data.substr(from);
  if (tail_passed_) {
    out_.push_back(rest);
  } else if (event_tail_.size() + rest.size() <= event_hold_limit) {
    event_tail_ += rest;  // not whole: should the engine die now, the client never sees half an event
  } else {
    tail_passed_ = true;
    commit();
    joined_ = std::move(event_tail_);
    event_tail_.clear();
    out_.push_back(joined_);
    out_.push_back(rest);
  }
}

bool Attempt::take_event(std::string_view event) {
  const StreamScan::Kind kind = scan_.see(event);
  shard_.counters.events.add();
  if (kind == StreamScan::Kind::content) {
    const std::int64_t stated = scan_.stated_tokens();
    // Fractions are carried by rounding the running total, so that 1.5 tokens an event come out right.
    const double factor = stated > 0 ? 0 : shard_.tokens_per_event(upstream_.id);
    const auto count = stated > 0
                           ? stated
                           : static_cast<std::int64_t>(factor * static_cast<double>(scan_.content_events())) -
                                 static_cast<std::int64_t>(factor * static_cast<double>(scan_.content_events() - 1));
    lease_.generated(Tokens(count));
    request_.output_from = stated > 0 ? fleet::TokenSource::token_ids : fleet::TokenSource::events;
    note_first_byte();
  }
  next_heartbeat_ = Time::max();
  if (committed_) return true;
  if (kind == StreamScan::Kind::error) {
    first_event_failed(event);
    return false;
  }
  if (http::view_event(event).comment_only && early_.size() < event_hold_limit) {
    early_ += event;  // says nothing of how the request fares: waits with the head for the first event that does
    return false;
  }
  if (request_.endpoint.dialect == Dialect::responses) remember_response_id(event);
  commit();
  return true;
}

void Attempt::first_event_failed(std::string_view event) {
  shard_.counters.held_errors.add();
  const std::string_view data = http::view_event(event).data;
  const auto error = engines::read_error_event(data);
  const int status = error ? error->status : 502;
  result_.status = status;
  result_.fault = "error_event_first";
  result_.held_body = data;
  result_.held_head.clear();
  stream_.close();
  if (blames_rank(data)) return end(Outcome::worker_fault);
  Outcome outcome = engines::classify_answer(upstream_.adapter->kind(), status, data);
  if (outcome == Outcome::completed) outcome = Outcome::worker_fault;
  end(outcome);
}

/// The rank is the router's choice: an engine that will not have it is at fault, not the client, who is not shown its
/// words.
bool Attempt::blames_rank(std::string_view error) {
  if (upstream_.rank_field.empty() || !engines::refuses_rank(error)) return false;
  shard_.shared.ranks.refused(upstream_.id);
  result_.status = 502;
  result_.fault = rank_refused;
  shard_.shared.breakers.refused(upstream_.id);
  result_.held_head.clear();
  result_.held_body.clear();
  return true;
}

void Attempt::note_first_byte() {
  if (request_.first_byte) return;
  request_.first_byte = now();
}

void Attempt::commit() {
  if (committed_) return;
  commit_head();
  note_first_byte();
  if (mode_ != Mode::events) return;
  // A stream may be held for minutes: from here nothing is sent again, so the request's bytes may go.
  shard_.spares.give(request_.body);
  request_.legs.reset();
  request_.head = nullptr;
  request_.head_bytes = request_.method = request_.target = request_.path = {};
  if (client_.body == nullptr) client_.release_request();
  stage_deadline_ = deadline_after(now(), request_.timeouts.silence);
}

void Attempt::commit_head() {
  committed_ = true;
  result_.answered = true;
  request_.status = parser_.head().status;
  if (!early_.empty()) out_.insert(out_.begin(), early_);
}

void Attempt::heartbeat() {
  if (now() < next_heartbeat_) return;
  if (!committed_) commit_head();
  out_.emplace_back(":\n\n");
  flush_out();
  next_heartbeat_ = deadline_after(now(), shard_.shared.settings.heartbeat);
}

void Attempt::flush_out() {
  const bool last = body_done_;
  if (!committed_ || (out_.empty() && answer_head_.empty() && !last)) return;
  std::size_t payload = 0;
  for (const auto part : out_) payload += part.size();
  request_.bytes_out += payload;
  shard_.counters.bytes_down.add(payload);

  static thread_local std::vector<std::string_view> parts;
  char chunk_head[20];
  parts.clear();
  parts.push_back(answer_head_);
  if (style_.framing == Framing::chunked && payload > 0) {
    char* end = std::to_chars(chunk_head, chunk_head + 16, payload, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    parts.emplace_back(chunk_head, static_cast<std::size_t>(end - chunk_head));
    parts.insert(parts.end(), out_.begin(), out_.end());
    parts.emplace_back("\r\n");
  } else {
    parts.insert(parts.end(), out_.begin(), out_.end());
  }
  if (last && style_.framing == Framing::chunked) parts.emplace_back("0\r\n\r\n");
  const bool fine = client_.outbox.put(parts);
  if (!answer_head_.empty()) shard_.spares.give(answer_head_);
  if (!early_.empty()) std::string().swap(early_);
  out_.clear();
  if (!fine && stage_ != Stage::done) cancel();
}

void Attempt::body_complete() {
  body_done_ = true;
  const http::Head& head = parser_.head();
  const bool reusable = head.keep_alive && stream_.is_open() && head.body != BodyKind::until_close &&
                        client_.body == nullptr && up_.clear();
  if (leg_ == Leg::beside && head.status < 400) return gathered_beside(reusable);
  if (mode_ == Mode::held && head.status < 400) {
    settle_usage(find_usage(held_));
    result_.held_body = std::move(held_);
    if (reusable) shard_.pool(upstream_).give(std::move(stream_), now());
    return end(Outcome::completed);
  }
  if (mode_ == Mode::held) {
    const bool rank_blamed = blames_rank(held_);
    if (reusable) shard_.pool(upstream_).give(std::move(stream_), now());
    if (rank_blamed) return end(Outcome::worker_fault);
    result_.held_head = std::move(answer_head_);
    result_.held_body = std::move(held_);
    if (style_.framing == Framing::chunked) {  // gathered whole: one chunk says so
      result_.held_body = result_.held_body.empty()
                              ? "0\r\n\r\n"
                              : fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", result_.held_body.size(), result_.held_body);
    }
    return end(engines::classify_answer(upstream_.adapter->kind(), head.status, result_.held_body));
  }
  const bool knows_end = mode_ == Mode::events;
  if (knows_end && !event_tail_.empty()) {
    // A last event may lack its blank line. Half an event may not pass: it is one only if it says something whole.
    joined_ = std::move(event_tail_);
    event_tail_.clear();
    const bool was_ended = scan_.ended();
    const StreamScan::Kind kind = scan_.see(joined_);
    if (kind == StreamScan::Kind::error && !committed_) return first_event_failed(joined_);
    if (was_ended || kind == StreamScan::Kind::true_end || kind == StreamScan::Kind::error) out_.push_back(joined_);
  }
  if (knows_end && !scan_.ended() && !scan_.failed()) {  // an engine's own error is an end too, and a truthful one
    body_done_ = false;
    stream_.close();
    if (!committed_) {
      result_.fault = "stream_without_end";
      return end(Outcome::worker_fault);
    }
    flush_out();
    return fail(Outcome::worker_fault, "stream_without_end");
  }
  commit();
  settle_usage(knows_end ? scan_.usage() : find_usage(body_tail_));
  result_.whole = style_.framing != Framing::until_close;
  flush_out();
  if (stage_ == Stage::done) return;
  if (reusable) shard_.pool(upstream_).give(std::move(stream_), now());
  result_.fault = scan_.failed() ? "error_event" : "";
  end(scan_.failed() ? Outcome::worker_fault : Outcome::completed);
}

/// A prefill worker's whole answer: whether it is one, and what it cost.
void Attempt::gathered_beside(bool reusable) {
  if (!style_.event_stream) {
    settle_usage(find_usage(held_));
  } else {
    std::size_t from = 0;
    for (std::size_t end = 0; (end = boundaries_.next(held_, from)) != http::EventBoundaries::npos; from = end) {
      const std::string_view event = std::string_view(held_).substr(from, end - from);
      if (scan_.see(event) == StreamScan::Kind::error) return first_event_failed(event);
    }
    settle_usage(scan_.usage());
    if (!scan_.ended()) return fail(Outcome::worker_fault, "stream_without_end");
  }
  if (reusable) shard_.pool(upstream_).give(std::move(stream_), now());
  end(Outcome::completed);
}

void Attempt::cut_stream(std::string_view message) {
  // What the client holds must not look finished: an error event where events are spoken, and in any case no true
  // end and no last chunk.
  if (mode_ == Mode::events && !scan_.ended() && !scan_.failed() && client_.stream.is_open() && !tail_passed_) {
    ApiError error;
    error.status = 502;
    error.message = message;
    error.code = "upstream_failure";
    const std::string event = error_event(request_.endpoint.dialect, error);
    out_.push_back(event);
    body_done_ = false;
    flush_out();
    out_.clear();
  }
  result_.whole = false;
}

void Attempt::settle_usage(const std::optional<Usage>& usage) {
  if (leg_ == Leg::beside) {
    if (usage) lease_.settle(usage->prompt > 0 ? Tokens(usage->prompt) : lease_.prompt_tokens(), Tokens(usage->output));
    return;
  }
  if (usage) {
    const Tokens prompt = usage->prompt > 0 ? Tokens(usage->prompt) : lease_.prompt_tokens();
    lease_.settle(prompt, Tokens(usage->output));
    request_.prompt_from = usage->prompt > 0 ? fleet::TokenSource::usage : fleet::TokenSource::estimate;
    request_.output_from = fleet::TokenSource::usage;
    note_cached(usage->cached);
    if (usage->prompt > 0 && request_.facts.text_bytes >= 64 && request_.facts.prompt_ids == 0 &&
        request_.facts.media_parts == 0) {
      double& ratio = shard_.tokens_per_byte(request_.model);
      ratio += (static_cast<double>(usage->prompt) / static_cast<double>(request_.facts.text_bytes) - ratio) / 32;
    }
    if (scan_.content_events() >= 4) {
      double& factor = shard_.tokens_per_event(upstream_.id);
      factor += (static_cast<double>(usage->output) / static_cast<double>(scan_.content_events()) - factor) / 16;
    }
  } else if (request_.prompt_from == fleet::TokenSource::none) {
    request_.prompt_from = fleet::TokenSource::estimate;
  }
  request_.prompt_tokens = lease_.prompt_tokens();
  request_.output_tokens = lease_.output_tokens();
}

/// vLLM does not say that it found nothing: of a worker that has said how much it found, silence means that.
void Attempt::note_cached(std::int64_t told) {
  if (request_.prefills > 0 && leg_ == Leg::answer) return;  // what it took over counts as found there, too
  bool& tells = shard_.tells_cached(upstream_.id);
  tells = tells || told >= 0;
  if (tells) request_.cached_tokens = Tokens(std::max<std::int64_t>(told, 0));
}

void Attempt::remember_response_id(std::string_view bytes) {
  const std::string_view key = "\"id\":";
  const std::size_t at = bytes.substr(0, 1024).find(key);
  if (at == std::string_view::npos) return;
  std::string_view rest = trim(bytes.substr(at + key.size(), 300));
  if (!rest.starts_with('"')) return;
  rest.remove_prefix(1);
  shard_.shared.responses.remember(rest.substr(0, rest.find('"')), upstream_.id);
}

}  // namespace evenkeel::gateway
