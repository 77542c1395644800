#include "message_reader.hpp"

#include <algorithm>
#include <charconv>

namespace relay_bench {
namespace {

constexpr std::size_t max_head = 16 * 1024;
constexpr std::size_t max_line = 1024;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_name(std::string_view name, std::string_view lower_name) {
  return std::equal(name.begin(), name.end(), lower_name.begin(), lower_name.end(),
                    [](char a, char b) { return lower(a) == b; });
}

bool parse(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

MessageReader::Step MessageReader::read(std::string_view bytes) {
  if (state_ == State::head) return {read_head(bytes), {}};
  if (state_ != State::body) return {};
  if (chunk_ != Chunk::none) return read_chunked(bytes);
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  left_ -= size;
  if (left_ == 0) state_ = State::complete;
  return {size, bytes.substr(0, size)};
}

std::size_t MessageReader::read_head(std::string_view bytes) {
  // The blank line may be split over two calls, so the search starts three bytes back.
  const std::size_t before = head_.size();
  head_.append(bytes.substr(0, std::min(bytes.size(), max_head - before)));
  const std::size_t end = head_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
  if (end == std::string::npos) {
    if (head_.size() >= max_head) break_off("head is longer than 16 KiB");
    return head_.size() - before;
  }
  head_.resize(end);
  begin_body();
  return end + 4 - before;
}

void MessageReader::begin_body() {
  left_ = 0;
  state_ = State::body;
  if (same_name(field("transfer-encoding"), "chunked")) {
    chunk_ = Chunk::size;
    return;
  }
  const std::string_view length = field("content-length");
  const bool request = !head_.starts_with("HTTP/");
  if (length.empty() && !request) return break_off("an answer with neither Content-Length nor chunks");
  if (!length.empty() && !parse(length, 10, left_)) return break_off("Content-Length is not a number");
  if (left_ == 0) state_ = State::complete;
}

MessageReader::Step MessageReader::read_chunked(std::string_view bytes) {
  Step step;
  if (chunk_ == Chunk::data) {
    step.consumed = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    step.body = bytes.substr(0, step.consumed);
    left_ -= step.consumed;
    if (left_ == 0) chunk_ = Chunk::data_end;
    return step;
  }
  if (!take_line(bytes, step.consumed)) return step;
  if (chunk_ == Chunk::data_end) {
    if (!line_.empty()) break_off("chunk is longer than its size");
    chunk_ = Chunk::size;
  } else if (chunk_ == Chunk::trailer) {
    if (line_.empty()) state_ = State::complete;
  } else if (!parse(std::string_view(line_).substr(0, line_.find_first_of("; ")), 16, left_)) {
    break_off("chunk size is not a number");
  } else {
    chunk_ = left_ == 0 ? Chunk::trailer : Chunk::data;
  }
  line_.clear();
  return step;
}

bool MessageReader::take_line(std::string_view bytes, std::size_t& consumed) {
  const std::size_t feed = bytes.find('\n');
  consumed = feed == std::string_view::npos ? bytes.size() : feed + 1;
  line_.append(bytes.substr(0, consumed));
  if (line_.size() > max_line) break_off("chunk line is too long");
  if (feed == std::string_view::npos) return false;
  line_.pop_back();
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  return true;
}

std::string_view MessageReader::field(std::string_view lower_name) const {
  std::string_view rest = head_;
  for (std::size_t end = rest.find("\r\n"); end != std::string_view::npos; end = rest.find("\r\n")) {
    rest.remove_prefix(end + 2);
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos || !same_name(rest.substr(0, colon), lower_name)) continue;
    std::string_view value = rest.substr(colon + 1);
    value = value.substr(0, value.find("\r\n"));
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    return value;
  }
  return {};
}

void MessageReader::break_off(std::string_view why) {
  state_ = State::broken;
  error_ = why;
}

void MessageReader::reset() {
  state_ = State::head;
  chunk_ = Chunk::none;
  left_ = 0;
  head_.clear();
  line_.clear();
  error_ = {};
}

}  // namespace relay_bench
