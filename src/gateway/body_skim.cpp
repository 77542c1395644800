#include "gateway/body_skim.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

namespace evenkeel::gateway {

namespace {

constexpr std::size_t keep_limit = 256;
constexpr int depth_limit = 512;

constexpr std::array<std::string_view, 10> forbidden = {
    "kv_transfer_params", "ec_transfer_params", "disaggregated_params", "data_parallel_rank",     "routed_dp_rank",
    "bootstrap_host",     "bootstrap_port",     "bootstrap_room",       "disagg_prefill_dp_rank", "bootstrap_pair_key"};

bool is_forbidden(std::string_view key) {
  return key.starts_with("bootstrap_") || std::find(forbidden.begin(), forbidden.end(), key) != forbidden.end();
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

/// Four hex digits at `at`, or -1.
std::int32_t unit_at(std::string_view raw, std::size_t at) {
  if (at + 4 > raw.size()) return -1;
  std::int32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_digit(raw[at + i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

}  // namespace

std::string decode_json_string(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out += raw[i];
      continue;
    }
    const char kind = raw[++i];
    switch (kind) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'u': {
        const std::int32_t unit = unit_at(raw, i + 1);
        if (unit < 0) {
          out += "\\u";
          break;
        }
        i += 4;
        auto code = static_cast<std::uint32_t>(unit);
        if (code >= 0xD800 && code < 0xDC00 && raw.substr(i + 1, 2) == "\\u") {
          const std::int32_t low = unit_at(raw, i + 3);
          if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10U) + (static_cast<std::uint32_t>(low) - 0xDC00);
            i += 6;
          }
        }
        append_utf8(out, code);
        break;
      }
      default: out += kind;  // \" \\ \/
    }
  }
  return out;
}

void blank_out(std::string& bytes, std::uint64_t offset, const std::vector<BodySkim::Range>& blanks) {
  const std::uint64_t end = offset + bytes.size();
  for (const auto& range : blanks) {
    const std::uint64_t from = std::max(range.begin, offset);
    const std::uint64_t to = std::min(range.end, end);
    if (from < to) std::memset(bytes.data() + (from - offset), ' ', to - from);
  }
}

bool BodySkim::fail(std::string_view why) {
  state_ = State::failed;
  complaint_ = why;
  return false;
}

bool BodySkim::feed(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size() && state_ != State::failed) at = step(piece, at);
  offset_ += piece.size();
  return state_ != State::failed;
}

bool BodySkim::finish() {
  if (state_ == State::failed) return false;
  if (state_ == State::before) return fail("the body is empty, a JSON object is needed");
  if (state_ != State::after) return fail("the body ends in the middle of its JSON object");
  return true;
}

std::uint64_t BodySkim::settled() const {
  // A member whose name is not known yet may have to go, and its comma with it.
  const bool naming =
      state_ == State::key || state_ == State::in_key || state_ == State::colon || state_ == State::key_or_end;
  if (strip_ && naming) return has_comma_ ? comma_ : std::min(member_begin_, offset_);
  return offset_;
}

std::size_t BodySkim::step(std::string_view piece, std::size_t at) {
  const char c = piece[at];
  const std::uint64_t place = offset_ + at;
  switch (state_) {
    case State::before:
      if (is_blank(c)) return at + 1;
      if (c != '{') return (void)fail("the body is not a JSON object"), at;
      state_ = State::key_or_end;
      member_begin_ = place + 1;
      return at + 1;
    case State::key_or_end:
    case State::key:
      if (is_blank(c)) return at + 1;
      if (c == '}' && state_ == State::key_or_end) {
        state_ = State::after;
        return at + 1;
      }
      if (c != '"') return (void)fail("a member name in quotes is missing in the JSON object"), at;
      member_begin_ = place;
      text_.clear();
      escaped_ = false;
      state_ = State::in_key;
      return at + 1;
    case State::in_key: {
      bool closed = false;
      at = skip_string(piece, at, &text_, &closed);
      if (closed) state_ = State::colon;
      return at;
    }
    case State::colon:
      if (is_blank(c)) return at + 1;
      if (c != ':') return (void)fail("a colon is missing behind a member name"), at;
      name_member();
      state_ = State::value;
      return at + 1;
    case State::value:
      if (is_blank(c)) return at + 1;
      value_begin_ = place;
      begin_value(c);
      return state_ == State::in_scalar ? at : at + 1;
    case State::in_string: {
      const bool keep = member_ == Member::model || member_ == Member::session || member_ == Member::user;
      bool closed = false;
      at = skip_string(piece, at, keep ? &text_ : nullptr, &closed);
      if (closed) end_value(offset_ + at);
      return at;
    }
    case State::in_scalar:
      if (c == ',' || c == '}' || is_blank(c)) {
        end_scalar();
        return at;
      }
      if (c == '"' || c == '{' || c == '[' || c == ':' || c == ']') return (void)fail("a value is malformed"), at;
      return take_scalar(piece, at);
    case State::nested:
    case State::nested_string: return skip_nested(piece, at);
    case State::comma_or_end:
      if (is_blank(c)) return at + 1;
      if (c == '}') {
        state_ = State::after;
        return at + 1;
      }
      if (c != ',') return (void)fail("a comma is missing between two members"), at;
      if (eat_comma_) {  // the first member went, so this comma goes, and what follows is first again
        blanks_.push_back({place, place + 1});
        has_comma_ = false;
        eat_comma_ = false;
      } else {
        has_comma_ = true;
        comma_ = place;
      }
      member_begin_ = place;
      state_ = State::key;
      return at + 1;
    case State::after:
      if (is_blank(c)) return at + 1;
      return (void)fail("bytes follow the JSON object"), at;
    case State::failed: return piece.size();
  }
  return piece.size();
}

BodySkim::Member BodySkim::kind_of(std::string_view key) const {
  switch (key.size()) {  // most keys are told apart by their length
    case 1:
      if (key == "n") return Member::sequences;
      break;
    case 4:
      if (key == "user") return Member::user;
      break;
    case 5:
      if (key == "model") return Member::model;
      if (key == "input") return Member::text;
      break;
    case 6:
      if (key == "stream") return Member::stream;
      if (key == "prompt") return Member::text;
      break;
    case 8:
      if (key == "messages") return Member::text;
      if (key == "priority") return Member::priority;
      break;
    case 10:
      if (key == "session_id") return Member::session;
      break;
    default: break;
  }
  return strip_ && key.size() > 10 && is_forbidden(key) ? Member::forbidden : Member::other;
}

void BodySkim::name_member() {
  std::string decoded;
  std::string_view key = text_;
  if (key.find('\\') != std::string_view::npos) key = decoded = decode_json_string(text_);
  member_ = kind_of(key);
  if (member_ == Member::forbidden) {
    blanks_.push_back({has_comma_ ? comma_ : member_begin_, std::numeric_limits<std::uint64_t>::max()});
  }
}

void BodySkim::begin_value(char first) {
  text_.clear();
  escaped_ = false;
  media_bytes_ = 0;
  if (first == '"') {
    state_ = State::in_string;
  } else if (first == '{' || first == '[') {
    closers_.assign(1, first == '{' ? '}' : ']');
    if (member_ == Member::text) facts_.list_prompts = 0;
    first_value_in_list_ = member_ == Member::text && first == '[';
    ids_only_ = first_value_in_list_;
    if (ids_only_) facts_.prompt_ids = 0;
    state_ = State::nested;
  } else if (first == ',' || first == '}' || first == ':' || first == ']') {
    (void)fail("a value is missing behind a member name");
  } else {
    state_ = State::in_scalar;
  }
}

void BodySkim::end_scalar() {
  const std::uint64_t size = text_.size();
  if (member_ == Member::model) {
    facts_.has_model = false;
    facts_.model.clear();
    facts_.model_wrong_type = text_ != "null";
  } else if (member_ == Member::stream) {
    facts_.stream = text_ == "true";
  } else if (member_ == Member::priority || member_ == Member::sequences) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + size, value);
    const bool whole = code == std::errc() && end == text_.data() + size;
    if (member_ == Member::priority) facts_.priority = whole ? value : 0;
    if (member_ == Member::sequences) facts_.sequences = whole ? std::clamp<std::int64_t>(value, 1, 1024) : 1;
  }
  member_ = member_ == Member::forbidden ? member_ : Member::other;
  end_value(value_begin_ + size);
}

void BodySkim::end_value(std::uint64_t end) {
  switch (member_) {
    case Member::model:
      facts_.model_wrong_type = state_ != State::in_string;
      facts_.has_model = !facts_.model_wrong_type;
      facts_.model = facts_.has_model ? decode_json_string(text_) : std::string();
      facts_.model_value = {value_begin_, end};
      break;
    case Member::stream: facts_.stream = false; break;  // neither true nor false
    case Member::session:
    case Member::user:
      // session_id wins over user wherever it stands.
      if (state_ == State::in_string && (member_ == Member::session || !session_seen_))
        facts_.session = decode_json_string(text_);
      session_seen_ = session_seen_ || member_ == Member::session;
      break;
    case Member::text:
      facts_.text_bytes += end - value_begin_ - std::min(media_bytes_, end - value_begin_);
      facts_.list_prompts = std::max<std::uint64_t>(facts_.list_prompts, 1);
      facts_.prompt_ids = ids_only_ && facts_.prompt_ids > 0 ? facts_.prompt_ids + 1 : 0;
      ids_only_ = first_value_in_list_ = false;
      break;
    case Member::forbidden:
      blanks_.back().end = end;
      eat_comma_ = !has_comma_;  // the comma before it is gone already, or the one behind it must go
      break;
    default: break;
  }
  state_ = State::comma_or_end;
}

std::size_t BodySkim::take_scalar(std::string_view piece, std::size_t at) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '+' || c == 'E';
  };
  std::size_t end = at + 1;
  while (end < piece.size() && plain(piece[end])) ++end;
  if (text_.size() < keep_limit) text_ += piece.substr(at, std::min(end - at, keep_limit - text_.size()));
  return end;
}

std::size_t BodySkim::skip_string(std::string_view piece, std::size_t at, std::string* keep, bool* closed) {
  const std::size_t from = at;
  const auto done = [&](std::size_t end) {
    if (keep != nullptr) {
      const std::size_t room = keep_limit - std::min(keep_limit, keep->size());
      keep->append(piece.substr(from, std::min(end - from, room)));
    }
  };
  if (escaped_) {
    escaped_ = false;
    ++at;
  }
  while (at < piece.size()) {
    const auto* quote = static_cast<const char*>(std::memchr(piece.data() + at, '"', piece.size() - at));
    const std::size_t limit = quote == nullptr ? piece.size() : static_cast<std::size_t>(quote - piece.data());
    // An odd run of backslashes before the quote escapes it.
    std::size_t run = limit;
    while (run > at && piece[run - 1] == '\\') --run;
    const bool odd = (limit - run) % 2 == 1;
    if (quote == nullptr) {
      escaped_ = odd;
      done(piece.size());
      return piece.size();
    }
    if (!odd) {
      done(limit);
      *closed = true;
      return limit + 1;
    }
    at = limit + 1;
  }
  done(piece.size());
  return piece.size();
}

void BodySkim::see_nested_string_start(std::string_view piece, std::size_t at) {
  // Media come as data: URLs (or bare base64 under "data", which is counted as text and so overestimated).
  media_string_ = member_ == Member::text && piece.substr(at, 5) == "data:";
  if (media_string_) {
    ++facts_.media_parts;
    media_begin_ = offset_ + at;
  }
}

std::size_t BodySkim::skip_nested(std::string_view piece, std::size_t at) {
  if (state_ == State::nested_string) {
    bool closed = false;
    at = skip_string(piece, at, nullptr, &closed);
    if (closed) {
      state_ = State::nested;
      if (media_string_) media_bytes_ += offset_ + at - media_begin_;
      media_string_ = false;
    }
    return at;
  }
  const bool in_list = first_value_in_list_ && closers_.size() == 1;
  // Between strings and brackets there is nothing to see, but for the commas of a list of token ids.
  while (at < piece.size()) {
    const char seen = piece[at];
    if (seen == '"' || seen == '{' || seen == '[' || seen == '}' || seen == ']' || (seen == ',' && in_list)) break;
    ++at;
  }
  if (at == piece.size()) return at;
  const char c = piece[at];
  switch (c) {
    case '"':
      if (in_list) {
        ++facts_.list_prompts;
        ids_only_ = false;
      }
      escaped_ = false;
      state_ = State::nested_string;
      see_nested_string_start(piece, at + 1);
      return at + 1;
    case '{':
    case '[':
      if (in_list && c == '[') ++facts_.list_prompts;
      if (in_list) ids_only_ = false;
      closers_ += c == '{' ? '}' : ']';
      if (closers_.size() > depth_limit) (void)fail("the JSON is nested too deeply");
      return at + 1;
    case '}':
    case ']':
      if (closers_.back() != c) return (void)fail("brackets do not pair"), at;
      closers_.pop_back();
      if (closers_.empty()) end_value(offset_ + at + 1);
      return at + 1;
    case ',':
      if (in_list && ids_only_) ++facts_.prompt_ids;
      return at + 1;
    default: return at + 1;
  }
}

}  // namespace evenkeel::gateway
