#include "gateway/answer_scan.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/scan.hpp"
#include "http/sse.hpp"

namespace evenkeel::gateway {

namespace {

constexpr auto npos = std::string_view::npos;

/// memmem: string_view::find walks byte by byte where glibc's is vectorised.
std::size_t find(std::string_view in, std::string_view what, std::size_t from = 0) {
  if (from >= in.size()) return npos;
  const void* const at = ::memmem(in.data() + from, in.size() - from, what.data(), what.size());
  return at == nullptr ? npos : static_cast<std::size_t>(static_cast<const char*>(at) - in.data());
}

/// As find, but looks first where it was the last time: the heads of a stream's events are of one size.
std::size_t find_again(std::string_view in, std::string_view what, std::size_t last) {
  if (last < in.size() && in.substr(last, what.size()) == what) return last;
  return find(in, what);
}

std::string_view behind_blanks(std::string_view text) {
  while (!text.empty() &&
         (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' || text.front() == '\r')) {
    text.remove_prefix(1);
  }
  return text;
}

/// The whole number that `text` begins with, or -1.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 15 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + (text[digits] - '0');
    ++digits;
  }
  return digits > 0 ? value : -1;
}

/// The place of the quote that closes the string whose inside begins at `from`, or npos.
std::size_t closing_quote(std::string_view text, std::size_t from) {
  const char* const end = text.data() + text.size();
  const char* at = text.data() + from;
  while (true) {
    at = find_byte(at, end, '"');
    if (at == end) return npos;
    const auto place = static_cast<std::size_t>(at - text.data());
    std::size_t run = place;  // an odd run of backslashes before the quote escapes it
    while (run > from && text[run - 1] == '\\') --run;
    if ((place - run) % 2 == 0) return place;
    ++at;
  }
}

/// The last place of `"usage"` before `end`, or npos. Backwards, as it stands near the end, and in steps of its
/// length where it cannot be (Horspool's rule).
std::size_t last_usage_key(std::string_view in, std::size_t end) {
  static constexpr std::string_view key = "\"usage\"";
  static constexpr auto steps = [] {
    std::array<std::uint8_t, 256> table{};
    for (auto& step : table) step = key.size();
    for (std::size_t i = key.size() - 1; i > 0; --i)
      table[static_cast<unsigned char>(key[i])] = static_cast<std::uint8_t>(i);
    return table;
  }();
  if (end < key.size()) return npos;
  for (std::size_t at = end - key.size();;) {
    if (in[at] == key[0] && in.substr(at, key.size()) == key) return at;
    const std::size_t step = steps[static_cast<unsigned char>(in[at])];
    if (at < step) return npos;
    at -= step;
  }
}

/// At the second level: in prompt_tokens_details, or input_tokens_details by its other name.
void note_detail(std::string_view name, std::string_view value, Usage& own) {
  if (name == "cached_tokens") own.cached = leading_number(value);
}

void note_count(std::string_view name, std::string_view value, Usage& own, Usage& other) {
  switch (name.size()) {
    case 12:
      if (name == "input_tokens") other.prompt = leading_number(value);
      break;
    case 13:
      if (name == "prompt_tokens") own.prompt = leading_number(value);
      if (name == "output_tokens") other.output = leading_number(value);
      break;
    case 17:
      if (name == "completion_tokens") own.output = leading_number(value);
      break;
    default: break;
  }
}

/// The counts at the first level of the object that `text` begins with (details below it hold others, of which only
/// what was found in a prefix cache is of interest), -1 where it has none. Nothing if the object does not end in
/// `text`.
std::optional<Usage> read_counts(std::string_view text) {
  Usage own{-1, -1}, other{-1, -1};
  int depth = 0;
  static constexpr auto shapes = [] {  // all else between strings is passed over
    std::array<bool, 256> table{};
    for (const char c : {'{', '[', '}', ']', '"'}) table[static_cast<unsigned char>(c)] = true;
    return table;
  }();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!shapes[static_cast<unsigned char>(text[at])]) continue;
    switch (text[at]) {
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (--depth == 0)
          return Usage{own.prompt < 0 ? other.prompt : own.prompt, own.output < 0 ? other.output : own.output,
                       own.cached};
        break;
      case '"': {
        const std::size_t close = closing_quote(text, at + 1);
        if (close == npos) return std::nullopt;
        const std::string_view name = text.substr(at + 1, close - at - 1);
        at = close;
        if (depth > 2) break;
        const auto rest = behind_blanks(text.substr(at + 1));
        if (rest.empty() || rest.front() != ':') break;
        const auto value = behind_blanks(rest.substr(1));
        depth == 1 ? note_count(name, value, own, other) : note_detail(name, value, own);
        break;
      }
      default: break;
    }
  }
  return std::nullopt;
}

/// Whether `rest`, behind a key's closing quote, is `: "x...` with a string that is not empty.
bool is_text(std::string_view rest) {
  if (rest.size() < 4 || rest[0] != ':') return false;
  std::size_t at = 1;
  if (rest[at] == ' ') ++at;
  return at + 1 < rest.size() && rest[at] == '"' && rest[at + 1] != '"';
}

std::int64_t count_ids(std::string_view rest) {
  rest = behind_blanks(rest);
  if (rest.empty() || rest.front() != ':') return 0;
  rest = behind_blanks(rest.substr(1));
  if (rest.empty() || rest.front() != '[') return 0;
  const std::size_t close = rest.find(']');
  if (close == npos || close == 1) return 0;
  std::int64_t count = 1;
  for (const char c : rest.substr(0, close)) count += c == ',' ? 1 : 0;
  return count;
}

}  // namespace

std::optional<Usage> find_usage(std::string_view json) {
  constexpr std::string_view key = "\"usage\"";
  std::size_t at = last_usage_key(json, json.size());
  while (at != npos) {
    auto rest = behind_blanks(json.substr(at + key.size()));
    if ((at == 0 || json[at - 1] != '\\') && !rest.empty() && rest.front() == ':') {
      rest = behind_blanks(rest.substr(1));
      if (!rest.empty() && rest.front() == '{') {
        auto usage = read_counts(rest);
        if (usage && (usage->prompt >= 0 || usage->output >= 0)) {
          usage->prompt = std::max<std::int64_t>(usage->prompt, 0);
          usage->output = std::max<std::int64_t>(usage->output, 0);
          return usage;
        }
      }
    }
    at = last_usage_key(json, at + key.size() - 1);
  }
  return std::nullopt;
}

StreamScan::Kind StreamScan::fail() {
  failed_ = true;
  return Kind::error;
}

StreamScan::Kind StreamScan::content() {
  ++content_events_;
  return Kind::content;
}

StreamScan::Kind StreamScan::see(std::string_view event) {
  stated_tokens_ = 0;
  const http::EventView view = http::view_event(event);
  if (view.comment_only) return Kind::other;
  switch (dialect_) {
    case Dialect::openai: return see_openai(view.data);
    case Dialect::responses: return see_responses(view.name, view.data);
    case Dialect::messages: return see_messages(view.name, view.data);
    case Dialect::opaque: return Kind::other;
  }
  return Kind::other;
}

StreamScan::Kind StreamScan::see_openai(std::string_view data) {
  if (data.starts_with("[DONE]")) {
    ended_ = true;
    return Kind::true_end;
  }
  const std::size_t choices = find_again(data, "\"choices\"", choices_at_);
  if (choices == npos) {
    // An error stands at the top of its event and takes the place of choices.
    if (find(data, "\"error\"") != npos || find(data, "\"object\":\"error\"") != npos) return fail();
    return Kind::other;
  }
  choices_at_ = choices;
  const std::string_view rest = data.substr(choices + 9);
  // What follows the list of choices is usage, or nothing: then the event ends with the list.
  if (!rest.ends_with("]}") && find(rest, "\"usage\"") != npos) {
    if (auto usage = find_usage(rest)) usage_ = usage;
  }
  if (!ids_absent_) {  // a request has token ids in all its events or in none
    const std::size_t ids = find(rest, "\"token_ids\"");
    if (ids != npos) stated_tokens_ = count_ids(rest.substr(ids + 11));
    if (stated_tokens_ > 0) return content();
  }
  constexpr std::array<std::string_view, 4> keys = {"\"content\"", "\"text\"", "\"reasoning_content\"",
                                                    "\"reasoning\""};
  if (content_key_ < keys.size()) {  // what the last content event carried, at the same place
    const std::string_view key = keys[content_key_];
    if (rest.substr(std::min(content_at_, rest.size()), key.size()) == key &&
        is_text(rest.substr(content_at_ + key.size()))) {
      return content();
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t at = find(rest, keys[i]);
    if (at == npos || !is_text(rest.substr(at + keys[i].size()))) continue;
    ids_absent_ = true;
    content_key_ = i;
    content_at_ = at;
    return content();
  }
  return find(rest, "\"tool_calls\":[{") != npos || find(rest, "\"arguments\"") != npos ? content() : Kind::other;
}

StreamScan::Kind StreamScan::see_responses(std::string_view name, std::string_view data) {
  const auto is = [&](std::string_view type) {
    return name == type || (name.empty() && find(data.substr(0, 256), type) != npos);
  };
  if (is("response.completed") || is("response.incomplete") || is("response.failed")) {
    if (auto usage = find_usage(data)) usage_ = usage;
    ended_ = true;
    failed_ = failed_ || is("response.failed");
    return Kind::true_end;
  }
  if (name == "error" || (name.empty() && data.starts_with("{\"error\""))) return fail();
  if (name.ends_with(".delta") || (name.empty() && find(data.substr(0, 128), ".delta\"") != npos)) return content();
  return Kind::other;
}

StreamScan::Kind StreamScan::see_messages(std::string_view name, std::string_view data) {
  if (name == "message_stop" || (name.empty() && find(data, "\"message_stop\"") != npos)) {
    ended_ = true;
    return Kind::true_end;
  }
  if (name == "error" || (name.empty() && data.starts_with("{\"type\":\"error\""))) return fail();
  if (name == "content_block_delta") return content();
  if (auto usage = find_usage(data)) {  // message_start tells the input, message_delta the output so far
    Usage merged = usage_.value_or(Usage{});
    merged.prompt = std::max(merged.prompt, usage->prompt);
    merged.output = std::max(merged.output, usage->output);
    merged.cached = std::max(merged.cached, usage->cached);
    usage_ = merged;
  }
  return Kind::other;
}

}  // namespace evenkeel::gateway
