#include "load/answer.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace evenkeel::load {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t longest_event = 1U << 20U;
constexpr std::size_t longest_words = 200;

std::string cut(std::string_view words) { return std::string(words.substr(0, longest_words)); }

bool has_text(object choice, std::string_view key) {
  std::string_view text;
  return choice[key].get(text) == simdjson::SUCCESS && !text.empty();
}

bool delta_has_content(object delta) {
  for (const std::string_view key : {"content", "reasoning_content", "reasoning", "refusal"}) {
    if (has_text(delta, key)) return true;
  }
  array calls;
  return delta["tool_calls"].get(calls) == simdjson::SUCCESS && calls.size() > 0;
}

bool has_content(object answer) {
  array choices;
  if (answer["choices"].get(choices) != simdjson::SUCCESS) return false;
  for (const element choice : choices) {
    object fields;
    if (choice.get(fields) != simdjson::SUCCESS) continue;
    object delta;
    if (fields["delta"].get(delta) == simdjson::SUCCESS ? delta_has_content(delta) : has_text(fields, "text")) {
      return true;
    }
  }
  return false;
}

void read_usage(object answer, AnswerFacts& facts) {
  object usage;
  if (answer["usage"].get(usage) != simdjson::SUCCESS) return;  // many chunks carry null
  std::int64_t count = 0;
  if (usage["prompt_tokens"].get(count) == simdjson::SUCCESS && count >= 0) facts.usage_prompt = count;
  if (usage["completion_tokens"].get(count) == simdjson::SUCCESS && count >= 0) facts.usage_output = count;
}

/// The words of an error if the object is one: {"error": {"message"}}, {"error": "..."}, or flat with
/// {"object": "error", "message"}.
std::optional<std::string> error_of(object answer) {
  std::string_view words;
  element error;
  if (answer["error"].get(error) == simdjson::SUCCESS && !error.is_null()) {
    object fields;
    if (error.get(words) == simdjson::SUCCESS) return cut(words);
    if (error.get(fields) != simdjson::SUCCESS) return cut(simdjson::minify(error));
    return fields["message"].get(words) == simdjson::SUCCESS ? cut(words) : cut(simdjson::minify(error));
  }
  if (answer["object"].get(words) == simdjson::SUCCESS && words == "error") {
    return answer["message"].get(words) == simdjson::SUCCESS ? cut(words) : std::string("error without words");
  }
  return std::nullopt;
}

}  // namespace

std::optional<object> JsonScratch::object(std::string_view text) {
  const std::size_t wanted = text.size() + simdjson::SIMDJSON_PADDING;
  if (padded_.size() < wanted) padded_.resize(std::max(wanted, 2 * padded_.size()));
  std::copy(text.begin(), text.end(), padded_.begin());
  simdjson::dom::object parsed;
  if (parser_.parse(padded_.data(), text.size(), false).get(parsed) != simdjson::SUCCESS) return std::nullopt;
  return parsed;
}

void StreamedAnswer::fail(Ending ending, std::string_view words) {
  failed_ = ending;
  facts_.trouble = cut(words);
}

bool StreamedAnswer::feed(std::string_view bytes, Duration now) {
  std::size_t begin = 0;
  while (!done_ && !failed_) {
    const std::size_t end = boundaries_.next(bytes, begin);
    if (end == http::EventBoundaries::npos) break;
    if (kept_.empty()) {
      event(bytes.substr(begin, end - begin), now);
    } else {
      kept_ += bytes.substr(begin, end - begin);
      event(kept_, now);
      kept_.clear();
    }
    begin = end;
  }
  if (done_ || failed_) return false;
  kept_ += bytes.substr(begin);
  if (kept_.size() > longest_event) fail(Ending::malformed, "an event of more than 1 MiB");
  return !failed_;
}

void StreamedAnswer::event(std::string_view bytes, Duration now) {
  const http::EventView view = http::view_event(bytes);
  if (view.data.empty()) return;  // a comment, a heartbeat
  if (view.data.starts_with("[DONE]")) {
    done_ = true;
    return;
  }
  const auto parsed = scratch_.object(view.data);
  if (!parsed)
    return fail(Ending::malformed, "an event that is no JSON object: " + std::string(view.data.substr(0, 120)));
  if (view.name == "error") return fail(Ending::error_event, error_of(*parsed).value_or(std::string(view.data)));
  data(*parsed, now);
}

void StreamedAnswer::data(object answer, Duration now) {
  if (const auto error = error_of(answer)) return fail(Ending::error_event, *error);
  read_usage(answer, facts_);
  if (!has_content(answer)) return;
  ++facts_.content_events;
  if (facts_.first_content) {
    gaps_.add(to_millis(now - facts_.last_content));
  } else {
    facts_.first_content = now;
  }
  facts_.last_content = now;
}

Ending StreamedAnswer::end(bool broken, Duration now) {
  if (!done_ && !failed_ && !broken && !kept_.empty()) event(kept_, now);
  kept_.clear();
  if (failed_) return *failed_;
  if (done_) return Ending::completed;
  facts_.trouble = broken ? "the connection broke before [DONE]" : "the stream ended without [DONE]";
  return Ending::truncated;
}

Ending read_plain_answer(JsonScratch& scratch, std::string_view body, AnswerFacts& facts) {
  const auto parsed = scratch.object(body);
  if (!parsed) {
    facts.trouble = "the body is no JSON object";
    return Ending::malformed;
  }
  if (auto error = error_of(*parsed)) {
    facts.trouble = std::move(*error);
    return Ending::error_event;
  }
  read_usage(*parsed, facts);
  array choices;
  if ((*parsed)["choices"].get(choices) == simdjson::SUCCESS) return Ending::completed;
  facts.trouble = "the body has no choices";
  return Ending::malformed;
}

std::string error_words(JsonScratch& scratch, std::string_view body) {
  if (const auto parsed = scratch.object(body)) {
    if (auto words = error_of(*parsed)) return *words;
  }
  return cut(trim(body));
}

}  // namespace evenkeel::load
