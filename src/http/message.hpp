#pragma once

#include <llhttp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/field_name.hpp"

namespace evenkeel::http {

/// Where bytes lie in the buffer that a head was parsed from. Offsets, because that buffer may grow and move.
struct Span {
  std::uint32_t at = 0;
  std::uint32_t size = 0;
  [[nodiscard]] std::string_view in(std::string_view buffer) const { return buffer.substr(at, size); }
};

struct Field {
  Span name;
  Span value;
  FieldName known = FieldName::other;
};

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

/// The head of one message, as places in the bytes it came in.
struct Head {
  // Request:
  Span method;
  Span target;
  // Response:
  int status = 0;
  Span reason;
  // Both:
  int minor = 1;           ///< HTTP/1.minor
  bool keep_alive = true;  ///< by version and Connection
  bool upgrade = false;
  BodyKind body = BodyKind::none;    ///< for a response: as if to a GET
  std::uint64_t content_length = 0;  ///< if body is length, else 0 or what a HEAD announces
  std::uint32_t size = 0;            ///< bytes of the head, the empty line included
  std::vector<Field> fields;
  std::uint32_t present = 0;  ///< a bit for each FieldName that occurs
  std::uint32_t lengths = 0;  ///< a bit for each length of a name that occurs, modulo 32

  /// First field of that name (ASCII case ignored), or nothing.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view buffer, std::string_view name) const;
  /// The same for a name that is told apart as the head is read: one test if there is none.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view buffer, FieldName name) const;
  [[nodiscard]] bool has(FieldName name) const { return (present >> static_cast<unsigned>(name) & 1U) != 0; }

  /// As new, but for the capacity of `fields`.
  void clear();
  void add(const Field& field) {
    fields.push_back(field);
    note(field);
  }
  /// For whoever fills `fields`, once a field's name is there.
  void note(const Field& field) {
    present |= 1U << static_cast<unsigned>(field.known);
    lengths |= 1U << field.name.size % 32;
  }
};

struct HeadLimits {
  std::size_t bytes = 64 * 1024;
  std::size_t fields = 256;
};

enum class ParseStatus : std::uint8_t { need_more, done, malformed, too_large };

/// Follows HTTP/1.x framing on llhttp, strict: no obs-fold, no bare LF, no CL beside TE. Takes bytes and returns
/// places; never touches a socket. One parser serves one direction of one connection, message after message:
/// parse_head until done, then the body by its kind (decode_chunks for chunked, counting for length), then next().
class MessageParser {
 public:
  enum class Direction : std::uint8_t { request, response };

  explicit MessageParser(Direction direction, HeadLimits limits = {});
  MessageParser(const MessageParser&) = delete;
  MessageParser& operator=(const MessageParser&) = delete;

  /// `buffer` holds the message from its first byte and grows from call to call; what was parsed before is not
  /// looked at again. done: head() is filled, body bytes begin at head().size.
  ParseStatus parse_head(std::string_view buffer);
  [[nodiscard]] const Head& head() const { return head_; }
  /// Why malformed or too_large, in words.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  struct Chunks {
    ParseStatus status = ParseStatus::need_more;  ///< done: the final chunk and trailers are past
    std::size_t consumed = 0;                     ///< bytes of the input that belong to this message
  };
  /// Decodes a chunked body; appends the data spans found in `bytes` to `data`. No state is kept of the bytes.
  Chunks decode_chunks(std::string_view bytes, std::vector<std::string_view>& data);

  /// Makes ready for the next message on the connection.
  void next();
  /// Exchanges the list of a head's fields for another: a parser needs room for them only while heads are read.
  void swap_fields(std::vector<Field>& with) { head_.fields.swap(with); }

 private:
  struct Callbacks;
  friend struct Callbacks;
  int count_trailer(std::size_t size);
  void extend(Span& span, const char* at, std::size_t size) const;
  ParseStatus fail(ParseStatus status, std::string_view why);
  ParseStatus check_lines(std::string_view buffer, std::size_t from, std::size_t to);
  void finish_head();

  llhttp_t parser_{};
  Direction direction_;
  HeadLimits limits_;
  Head head_;
  const char* base_ = nullptr;
  std::size_t fed_ = 0;
  bool begun_ = true;  ///< llhttp has seen bytes of this message
  bool head_done_ = false;
  bool new_field_ = true;
  bool body_done_ = false;
  std::size_t trailer_bytes_ = 0;
  std::uint64_t chunk_data_ = 0;   ///< of this body
  std::uint64_t chunk_bytes_ = 0;  ///< its framing included
  std::vector<std::string_view>* data_ = nullptr;
  std::string complaint_;
};

}  // namespace evenkeel::http
