#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/body_skim.hpp"
#include "http/message.hpp"

namespace evenkeel::gateway {

/// A request body that is too large to keep: undone from the client's framing, looked at, edited and framed for
/// the engine piece by piece. Holds back only the bytes whose fate is open (a member name that may have to go).
class BodyStream {
 public:
  /// `chunked`: the client sends chunks (decoded by `parser`) and so do we; else `length` bytes come and go.
  BodyStream(bool strip, bool json, http::MessageParser& parser, bool chunked, std::uint64_t length,
             std::uint64_t limit)
      : skim_(strip), json_(json), parser_(parser), chunked_(chunked), left_(length), limit_(limit) {}

  enum class Status : std::uint8_t { more, done, malformed, too_large };

  /// Takes bytes as read from the client. `consumed` of them were the body's; what may go up now is in ready(), valid
  /// until the next call or until `raw` changes.
  Status take(std::string_view raw, std::size_t& consumed) {
    ready_ = {};
    buffer_.clear();
    if (!chunked_) {
      consumed = static_cast<std::size_t>(std::min<std::uint64_t>(left_, raw.size()));
      left_ -= consumed;
      const bool last = left_ == 0;
      pass(raw.substr(0, consumed), last);
      if (failed()) return Status::malformed;
      return last ? Status::done : Status::more;
    }
    spans_.clear();
    const auto chunks = parser_.decode_chunks(raw, spans_);
    consumed = chunks.consumed;
    if (chunks.status == http::ParseStatus::malformed) {
      complaint_ = "the chunked framing of the body is malformed";
      return Status::malformed;
    }
    const bool last = chunks.status == http::ParseStatus::done;
    data_.clear();
    for (const auto span : spans_) data_ += span;
    total_ += data_.size();
    if (total_ > limit_) return Status::too_large;
    pass(data_, last);
    if (failed()) return Status::malformed;
    return last ? Status::done : Status::more;
  }

  /// Takes the beginning of a chunked body that was decoded before it was known to be too large to keep.
  Status take_decoded(std::string_view data) {
    buffer_.clear();
    total_ += data.size();
    pass(data, false);
    return failed() ? Status::malformed : Status::more;
  }

  [[nodiscard]] std::string_view ready() const { return ready_; }
  [[nodiscard]] BodySkim& skim() { return skim_; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] bool chunked() const { return chunked_; }

 private:
  [[nodiscard]] bool failed() const { return !complaint_.empty(); }

  void pass(std::string_view piece, bool last) {
    if (!json_) {
      ready_ = piece;
      offset_ += piece.size();
      return;
    }
    if (!skim_.feed(piece) || (last && !skim_.finish())) {
      complaint_ = skim_.complaint();
      return;
    }
    const std::uint64_t begin = offset_ - tail_.size();
    offset_ += piece.size();
    const std::uint64_t settled = last ? offset_ : std::max(begin, skim_.settled());
    const bool edits = !skim_.blanks().empty() && skim_.blanks().back().end > begin;
    if (tail_.empty() && settled == offset_ && !edits) {
      ready_ = piece;
      return;
    }
    buffer_ = std::move(tail_);
    buffer_ += piece;
    tail_.assign(buffer_, settled - begin, std::string::npos);
    buffer_.resize(settled - begin);
    blank_out(buffer_, begin, skim_.blanks());
    ready_ = buffer_;
    if (tail_.size() > hold_limit) complaint_ = "a member name is preceded by too much white space";
  }

  static constexpr std::size_t hold_limit = 64U << 10U;

  BodySkim skim_;
  bool json_;
  http::MessageParser& parser_;
  bool chunked_;
  std::uint64_t left_;
  std::uint64_t limit_;
  std::uint64_t offset_ = 0;
  std::uint64_t total_ = 0;
  std::string tail_;
  std::string buffer_;
  std::string data_;
  std::string_view ready_;
  std::vector<std::string_view> spans_;
  std::string complaint_;
};

}  // namespace evenkeel::gateway
