#include "gateway/body_skim.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/scan.hpp"
#include "gateway/hash_text.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::size_t keep_limit = 256;

constexpr std::array<std::string_view, 10> forbidden = {
    "kv_transfer_params", "ec_transfer_params", "disaggregated_params", "data_parallel_rank",     "routed_dp_rank",
    "bootstrap_host",     "bootstrap_port",     "bootstrap_room",       "disagg_prefill_dp_rank", "bootstrap_pair_key"};

bool is_forbidden(std::string_view key) {
  return key.starts_with("bootstrap_") || std::find(forbidden.begin(), forbidden.end(), key) != forbidden.end();
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

const char* behind_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

/// What a number or literal at the top cannot contain. Nothing else is judged of it.
constexpr auto scalar_ends = [] {
  std::array<bool, 256> table{};
  for (const char c : {',', '}', ' ', '\n', '\r', '\t', '"', '{', '[', ':', ']'})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool ends_scalar(char c) { return scalar_ends[static_cast<unsigned char>(c)]; }

void assign_decoded(std::string& out, std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) {
    out.assign(raw);
  } else {
    out = decode_json_string(raw);
  }
}

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

void BodySkim::fail(std::string_view why) {
  state_ = State::failed;
  complaint_ = why;
}

bool BodySkim::feed(std::string_view piece) {
  piece_ = piece.data();
  run(piece.data(), piece.data() + piece.size());
  offset_ += piece.size();
  return state_ != State::failed;
}

bool BodySkim::finish() {
  if (state_ == State::failed) return false;
  if (state_ == State::before) fail("the body is empty, a JSON object is needed");
  if (state_ != State::after && state_ != State::failed) fail("the body ends in the middle of its JSON object");
  return state_ == State::after;
}

std::uint64_t BodySkim::settled() const {
  // A member whose name is not known yet may have to go, and its comma with it.
  const bool naming =
      state_ == State::key || state_ == State::in_key || state_ == State::colon || state_ == State::key_or_end;
  if (strip_ && naming) return has_comma_ ? comma_ : std::min(member_begin_, offset_);
  return offset_;
}

std::string_view BodySkim::token(const char* from, const char* to) {
  if (text_.empty()) return {from, std::min(static_cast<std::size_t>(to - from), keep_limit)};
  keep(from, to);
  return text_;
}

void BodySkim::keep(const char* from, const char* to) {
  const std::size_t room = keep_limit - std::min(keep_limit, text_.size());
  text_.append(from, std::min(static_cast<std::size_t>(to - from), room));
}

void BodySkim::run(const char* at, const char* end) {
  while (at != end) {
    switch (state_) {
      case State::before:
        at = behind_blanks(at, end);
        if (at == end) return;
        if (*at++ != '{') return fail("the body is not a JSON object");
        state_ = State::key_or_end;
        member_begin_ = place(at);
        break;
      case State::key_or_end:
      case State::key:
        at = behind_blanks(at, end);
        if (at == end) return;
        if (*at == '}' && state_ == State::key_or_end) {
          state_ = State::after;
          ++at;
          break;
        }
        if (*at != '"') return fail("a member name in quotes is missing in the JSON object");
        member_begin_ = place(at++);
        text_.clear();
        state_ = State::in_key;
        [[fallthrough]];
      case State::in_key: at = take_key(at, end); break;
      case State::colon:
        at = behind_blanks(at, end);
        if (at == end) return;
        if (*at++ != ':') return fail("a colon is missing behind a member name");
        state_ = State::value;
        [[fallthrough]];
      case State::value:
        at = behind_blanks(at, end);
        if (at == end) return;
        value_begin_ = place(at);
        begin_value(*at);
        if (state_ != State::in_scalar) ++at;
        break;
      case State::in_string: at = take_string(at, end); break;
      case State::in_scalar: at = take_scalar(at, end); break;
      case State::nested_string: at = skip_nested_string(at, end); break;
      case State::nested: at = skip_nested(at, end); break;
      case State::comma_or_end:
        at = behind_blanks(at, end);
        if (at == end) return;
        if (*at == ',') {
          begin_member(place(at++));
          break;
        }
        if (*at++ != '}') return fail("a comma is missing between two members");
        state_ = State::after;
        break;
      case State::after:
        if (behind_blanks(at, end) != end) fail("bytes follow the JSON object");
        return;
      case State::failed: return;
    }
  }
}

void BodySkim::begin_member(std::uint64_t comma) {
  if (eat_comma_) {  // the first member went, so this comma goes, and what follows is first again
    blanks_.push_back({comma, comma + 1});
    has_comma_ = false;
    eat_comma_ = false;
  } else {
    has_comma_ = true;
    comma_ = comma;
  }
  member_begin_ = comma;
  state_ = State::key;
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
      if (key == "tools") return Member::tools;
      break;
    case 6:
      if (key == "system") return Member::preface;
      if (key == "stream") return Member::stream;
      if (key == "prompt") return Member::text;
      break;
    case 7:
      if (key == "best_of") return Member::sequences;
      break;
    case 8:
      if (key == "messages") return Member::text;
      if (key == "priority") return Member::priority;
      break;
    case 10:
      if (key == "session_id") return Member::session;
      if (key == "cache_salt") return Member::salt;
      if (key == "max_tokens") return Member::bound;
      break;
    case 9:
      if (key == "extra_key" || key == "lora_path") return Member::salt;
      break;
    case 12:
      if (key == "instructions") return Member::preface;
      break;
    case 17:
      if (key == "max_output_tokens") return Member::bound;
      break;
    case 21:
      if (key == "max_completion_tokens") return Member::bound;
      break;
    default: break;
  }
  return strip_ && key.size() > 10 && is_forbidden(key) ? Member::forbidden : Member::other;
}

const char* BodySkim::take_key(const char* at, const char* end) {
  const char* close = escaped_ ? nullptr : find_near_quote(at, end);
  const bool plain = close != nullptr && text_.empty();
  if (close == nullptr) close = find_close(at, end);
  if (close == nullptr) return keep(at, end), end;
  name_member(token(at, close), plain);
  state_ = State::colon;
  return close + 1;
}

/// `plain`: there are no escapes in it.
void BodySkim::name_member(std::string_view key, bool plain) {
  std::string decoded;
  if (!plain && key.find('\\') != std::string_view::npos) key = decoded = decode_json_string(key);
  member_ = kind_of(key);
  if (member_ == Member::forbidden) {
    blanks_.push_back({has_comma_ ? comma_ : member_begin_, std::numeric_limits<std::uint64_t>::max()});
  }
}

void BodySkim::begin_value(char first) {
  text_.clear();
  media_bytes_ = 0;
  switch (first) {
    case '"': state_ = State::in_string; return;
    case '{':
    case '[':
      depth_ = 0;
      open(first == '[');
      if (member_ == Member::text) facts_.list_prompts = 0;
      ids_only_ = first_value_in_list_ = member_ == Member::text && first == '[';
      if (ids_only_) facts_.prompt_ids = 0;
      state_ = State::nested;
      return;
    case ',':
    case '}':
    case ':':
    case ']': fail("a value is missing behind a member name"); return;
    default: state_ = State::in_scalar;
  }
}

const char* BodySkim::take_string(const char* at, const char* end) {
  const bool wanted =
      member_ == Member::model || member_ == Member::session || member_ == Member::user || member_ == Member::salt;
  const char* const close = find_close(at, end);
  if (close == nullptr) {
    if (wanted) keep(at, end);
    return end;
  }
  end_value(place(close + 1), wanted ? token(at, close) : std::string_view());
  return close + 1;
}

const char* BodySkim::take_scalar(const char* at, const char* end) {
  const char* stop = at;
  while (stop != end && !ends_scalar(*stop)) ++stop;
  if (stop == end) return keep(at, end), end;
  if (*stop != ',' && *stop != '}' && !is_blank(*stop)) return fail("a value is malformed"), end;
  end_scalar(token(at, stop), place(stop));
  return stop;
}

void BodySkim::end_scalar(std::string_view text, std::uint64_t end) {
  if (member_ == Member::model) {
    facts_.has_model = false;
    facts_.model.clear();
    facts_.model_wrong_type = text != "null";
  } else if (member_ == Member::stream) {
    facts_.stream = text == "true";
  } else if (member_ == Member::priority || member_ == Member::sequences || member_ == Member::bound) {
    std::int64_t value = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = code == std::errc() && stop == text.data() + text.size();
    if (member_ == Member::priority) facts_.priority = whole ? value : 0;
    if (member_ == Member::sequences && whole) {  // best_of is never below n
      facts_.sequences = std::max(facts_.sequences, std::clamp<std::int64_t>(value, 1, 1024));
    }
    if (member_ == Member::bound) facts_.output_bound = whole ? std::clamp<std::int64_t>(value, 0, 1 << 30) : 0;
  }
  const bool kept = member_ == Member::forbidden || (member_ == Member::salt && text != "null");
  member_ = kept ? member_ : Member::other;
  end_value(end, {});
}

/// `text`: the raw inside of a string that was to be kept.
void BodySkim::end_value(std::uint64_t end, std::string_view text) {
  switch (member_) {
    case Member::model:
      facts_.model_wrong_type = state_ != State::in_string;
      facts_.has_model = !facts_.model_wrong_type;
      assign_decoded(facts_.model, text);
      facts_.model_value = {value_begin_, end};
      break;
    case Member::stream: facts_.stream = false; break;  // neither true nor false
    case Member::session:
    case Member::user:
      // session_id wins over user wherever it stands.
      if (state_ == State::in_string && (member_ == Member::session || !session_seen_))
        assign_decoded(facts_.session, text);
      session_seen_ = session_seen_ || member_ == Member::session;
      break;
    case Member::text:
      facts_.text = {value_begin_, end};
      facts_.text_bytes += end - value_begin_ - std::min(media_bytes_, end - value_begin_);
      facts_.list_prompts = std::max<std::uint64_t>(facts_.list_prompts, 1);
      facts_.prompt_ids = ids_only_ && facts_.prompt_ids > 0 ? facts_.prompt_ids + 1 : 0;
      ids_only_ = first_value_in_list_ = false;
      break;
    case Member::tools:
    case Member::preface:
      (member_ == Member::tools ? facts_.tools : facts_.preface) = {value_begin_, end};
      facts_.text_bytes += end - value_begin_;
      break;
    case Member::salt:
      if (state_ == State::in_string) {
        facts_.salt += hash_text(text, 1);
      } else {
        facts_.odd_salt = true;
      }
      break;
    case Member::forbidden:
      blanks_.back().end = end;
      eat_comma_ = !has_comma_;  // the comma before it is gone already, or the one behind it must go
      break;
    default: break;
  }
  state_ = State::comma_or_end;
}

/// The closing quote of the string that goes on at `at`; null if it goes on behind the piece.
const char* BodySkim::find_close(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (escaped_) {
    escaped_ = false;
    ++at;
  }
  while (true) {
    const char* const quote = find_byte(at, end, '"');
    // An odd run of backslashes before the quote escapes it.
    const char* run = quote;
    while (run != at && run[-1] == '\\') --run;
    const bool odd = (quote - run) % 2 == 1;
    if (quote == end) {
      escaped_ = odd;
      return nullptr;
    }
    if (!odd) return quote;
    at = quote + 1;
  }
}

const char* BodySkim::skip_nested_string(const char* at, const char* end) {
  const char* close = escaped_ ? nullptr : find_near_quote(at, end);
  if (close == nullptr) close = find_close(at, end);
  if (close == nullptr) return end;
  state_ = State::nested;
  if (media_string_) media_bytes_ += place(close + 1) - media_begin_;
  media_string_ = false;
  return close + 1;
}

void BodySkim::open(bool list) {
  const auto bit = std::uint64_t{1} << (depth_ % 64U);
  std::uint64_t& word = lists_[depth_ / 64U];
  word = list ? word | bit : word & ~bit;
  ++depth_;
}

bool BodySkim::innermost_is_list() const { return (lists_[(depth_ - 1) / 64U] >> ((depth_ - 1) % 64U) & 1U) != 0; }

/// A string begins inside a value of interest.
void BodySkim::see_nested_string(const char* at, const char* end) {
  if (first_value_in_list_ && depth_ == 1) {
    ++facts_.list_prompts;
    ids_only_ = false;
  }
  // Media come as data: URLs (or bare base64 under "data", which is counted as text and so overestimated).
  if (end - at < 5 || std::memcmp(at, "data:", 5) != 0) return;
  media_string_ = true;
  ++facts_.media_parts;
  media_begin_ = place(at);
}

void BodySkim::see_nested_list(char bracket) {
  if (!first_value_in_list_ || depth_ != 1) return;
  if (bracket == '[') ++facts_.list_prompts;
  ids_only_ = false;
}

const char* BodySkim::skip_nested(const char* at, const char* end) {
  // Between strings and brackets there is nothing to see, but for the commas of a list of token ids.
  for (; at != end; ++at) {
    const char c = *at;
    switch (c) {
      case '"':
        if (member_ == Member::text) see_nested_string(at + 1, end);
        state_ = State::nested_string;
        at = skip_nested_string(at + 1, end);
        if (state_ == State::nested_string) return end;
        --at;
        break;
      case '{':
      case '[':
        see_nested_list(c);
        if (depth_ == depth_limit) return fail("the JSON is nested too deeply"), end;
        open(c == '[');
        break;
      case '}':
      case ']':
        if (innermost_is_list() != (c == ']')) return fail("brackets do not pair"), end;
        if (--depth_ > 0) break;
        end_value(place(at + 1), {});
        return at + 1;
      case ',':
        if (ids_only_ && depth_ == 1) ++facts_.prompt_ids;
        break;
      default: break;
    }
  }
  return end;
}

}  // namespace evenkeel::gateway
