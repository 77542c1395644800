#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "http/sse.hpp"
#include "load/record.hpp"
#include "maths/histogram.hpp"

namespace evenkeel::load {

/// Memory that every answer of one loop uses while it looks at a piece.
class JsonScratch {
 public:
  /// The parsed text, valid until the next call, or nothing if it is no JSON object.
  [[nodiscard]] std::optional<simdjson::dom::object> object(std::string_view text);

 private:
  simdjson::dom::parser parser_;
  std::string padded_;
};

/// What an answer has told so far.
struct AnswerFacts {
  std::optional<Duration> first_content;
  Duration last_content{};
  std::int64_t content_events = 0;
  std::optional<std::int64_t> usage_prompt;
  std::optional<std::int64_t> usage_output;
  std::string trouble;  ///< words of an error, or what was malformed
};

/// Reads the events of a streamed chat completion or completion, wherever the reads cut them. An event has
/// content if one of its choices brings text, reasoning, a refusal or a piece of a tool call; the event with
/// the role alone has none. Events that come in one read have one time. At most 1 MiB of an event is kept.
class StreamedAnswer {
 public:
  /// `gaps` takes the time between two events with content, in ms.
  StreamedAnswer(JsonScratch& scratch, maths::Histogram& gaps) : scratch_(scratch), gaps_(gaps) {}

  /// False once nothing that may follow counts: the true end, an error event or garbage was seen.
  bool feed(std::string_view bytes, Duration now);
  /// The body is over: its last event may lack its blank line. `broken`: not by its own framing.
  [[nodiscard]] Ending end(bool broken, Duration now);

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] AnswerFacts& facts() { return facts_; }

 private:
  void event(std::string_view bytes, Duration now);
  void data(simdjson::dom::object object, Duration now);
  void fail(Ending ending, std::string_view words);

  JsonScratch& scratch_;
  maths::Histogram& gaps_;
  http::EventBoundaries boundaries_;
  std::string kept_;  // the event that has not ended yet
  AnswerFacts facts_;
  std::optional<Ending> failed_;
  bool done_ = false;
};

/// Reads the whole body of an answer that was not streamed, status 200.
[[nodiscard]] Ending read_plain_answer(JsonScratch& scratch, std::string_view body, AnswerFacts& facts);

/// The words of an error body in any of the shapes that engines use, else the start of the body. At most 200
/// bytes.
[[nodiscard]] std::string error_words(JsonScratch& scratch, std::string_view body);

}  // namespace evenkeel::load
