#include "gateway/answer_scan.hpp"

#include <cstring>

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

std::string_view behind_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' || text.front() == '\r')) {
    text.remove_prefix(1);
  }
  return text;
}

/// The number behind `"name":` in `object`, or -1.
std::int64_t number_of(std::string_view object, std::string_view quoted_name) {
  const std::size_t at = find(object, quoted_name);
  if (at == npos) return -1;
  auto rest = behind_blanks(object.substr(at + quoted_name.size()));
  if (rest.empty() || rest.front() != ':') return -1;
  rest = behind_blanks(rest.substr(1));
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (digits < rest.size() && digits < 15 && rest[digits] >= '0' && rest[digits] <= '9') {
    value = value * 10 + (rest[digits] - '0');
    ++digits;
  }
  return digits > 0 ? value : -1;
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
  std::size_t at = json.rfind(key);
  while (at != npos) {
    auto rest = behind_blanks(json.substr(at + key.size()));
    if ((at == 0 || json[at - 1] != '\\') && !rest.empty() && rest.front() == ':') {
      rest = behind_blanks(rest.substr(1));
      if (!rest.empty() && rest.front() == '{') {
        // Nested details hold other counts; the two that count stand at the first level, before or behind them.
        Usage usage{number_of(rest, "\"prompt_tokens\""), number_of(rest, "\"completion_tokens\"")};
        if (usage.prompt < 0) usage.prompt = number_of(rest, "\"input_tokens\"");
        if (usage.output < 0) usage.output = number_of(rest, "\"output_tokens\"");
        if (usage.prompt >= 0 || usage.output >= 0) {
          usage.prompt = std::max<std::int64_t>(usage.prompt, 0);
          usage.output = std::max<std::int64_t>(usage.output, 0);
          return usage;
        }
      }
    }
    at = at == 0 ? npos : json.rfind(key, at - 1);
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
  const std::size_t choices = find(data, "\"choices\"");
  if (choices == npos) {
    // An error stands at the top of its event and takes the place of choices.
    if (find(data, "\"error\"") != npos || find(data, "\"object\":\"error\"") != npos) return fail();
    return Kind::other;
  }
  const std::string_view rest = data.substr(choices + 9);
  // Usage follows choices, is null on most engines' other chunks, and is rare: look at its key only.
  if (const std::size_t key = find(rest, "\"usage\""); key != npos) {
    if (auto usage = find_usage(rest)) usage_ = usage;
  }
  if (const std::size_t ids = find(rest, "\"token_ids\""); ids != npos) stated_tokens_ = count_ids(rest.substr(ids + 11));
  if (stated_tokens_ > 0) return content();
  for (const std::string_view key : {std::string_view("\"content\""), std::string_view("\"text\""),
                                     std::string_view("\"reasoning_content\""), std::string_view("\"reasoning\"")}) {
    if (const std::size_t at = find(rest, key); at != npos && is_text(rest.substr(at + key.size()))) return content();
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
    usage_ = merged;
  }
  return Kind::other;
}

}  // namespace evenkeel::gateway
