#include "http/message.hpp"

#include <cstring>

#include "base/text.hpp"
#include "http/plain_head.hpp"

namespace evenkeel::http {

std::optional<std::string_view> Head::find(std::string_view buffer, std::string_view name) const {
  if ((lengths >> name.size() % 32 & 1U) == 0) return std::nullopt;
  for (const Field& field : fields) {
    if (field.name.size == name.size() && equals_ignoring_case(field.name.in(buffer), name)) {
      return field.value.in(buffer);
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> Head::find(std::string_view buffer, FieldName name) const {
  if (!has(name)) return std::nullopt;
  for (const Field& field : fields) {
    if (field.known == name) return field.value.in(buffer);
  }
  return std::nullopt;
}

void Head::clear() {
  auto kept = std::move(fields);
  kept.clear();
  *this = Head{};
  fields = std::move(kept);
}

/// llhttp's hooks, in one constant table.
struct MessageParser::Callbacks {
  static MessageParser& of(llhttp_t* parser) { return *static_cast<MessageParser*>(parser->data); }

  static int on_method(llhttp_t* p, const char* at, std::size_t size) {
    of(p).extend(of(p).head_.method, at, size);
    return 0;
  }
  static int on_url(llhttp_t* p, const char* at, std::size_t size) {
    of(p).extend(of(p).head_.target, at, size);
    return 0;
  }
  static int on_status(llhttp_t* p, const char* at, std::size_t size) {
    of(p).extend(of(p).head_.reason, at, size);
    return 0;
  }
  static int on_field(llhttp_t* p, const char* at, std::size_t size) {
    MessageParser& self = of(p);
    if (self.head_done_) return self.count_trailer(size);
    if (self.new_field_) {
      if (self.head_.fields.size() >= self.limits_.fields) return HPE_USER;
      self.head_.fields.emplace_back();
      self.new_field_ = false;
    }
    self.extend(self.head_.fields.back().name, at, size);
    return 0;
  }
  static int on_value(llhttp_t* p, const char* at, std::size_t size) {
    MessageParser& self = of(p);
    if (self.head_done_) return self.count_trailer(size);
    self.extend(self.head_.fields.back().value, at, size);
    return 0;
  }
  static int on_name_complete(llhttp_t* p) {
    MessageParser& self = of(p);
    if (self.head_done_) return 0;
    Field& field = self.head_.fields.back();
    field.known = field_name({self.base_ + field.name.at, field.name.size});
    self.head_.note(field);
    return 0;
  }
  static int on_value_complete(llhttp_t* p) {
    of(p).new_field_ = true;
    return 0;
  }
  static int on_headers_complete(llhttp_t* p) {
    of(p).head_done_ = true;
    return HPE_PAUSED;
  }
  static int on_body(llhttp_t* p, const char* at, std::size_t size) {
    if (size > 0 && of(p).data_ != nullptr) of(p).data_->emplace_back(at, size);
    return 0;
  }
  static int on_message_complete(llhttp_t* p) {
    of(p).body_done_ = true;
    return HPE_PAUSED;
  }

  static const llhttp_settings_t& table() {
    static const llhttp_settings_t settings = [] {
      llhttp_settings_t s;
      llhttp_settings_init(&s);
      s.on_method = on_method;
      s.on_url = on_url;
      s.on_status = on_status;
      s.on_header_field = on_field;
      s.on_header_field_complete = on_name_complete;
      s.on_header_value = on_value;
      s.on_header_value_complete = on_value_complete;
      s.on_headers_complete = on_headers_complete;
      s.on_body = on_body;
      s.on_message_complete = on_message_complete;
      return s;
    }();
    return settings;
  }
};

MessageParser::MessageParser(Direction direction, HeadLimits limits) : direction_(direction), limits_(limits) {
  next();
}

void MessageParser::next() {
  if (begun_) {
    llhttp_init(&parser_, direction_ == Direction::request ? HTTP_REQUEST : HTTP_RESPONSE, &Callbacks::table());
    parser_.data = this;
    begun_ = false;
  }
  head_.clear();
  fed_ = 0;
  head_done_ = false;
  new_field_ = true;
  body_done_ = false;
  trailer_bytes_ = 0;
  chunk_data_ = chunk_bytes_ = 0;
  complaint_.clear();
}

void MessageParser::extend(Span& span, const char* at, std::size_t size) const {
  if (span.size == 0) span.at = static_cast<std::uint32_t>(at - base_);
  span.size = static_cast<std::uint32_t>(at + size - base_) - span.at;
}

int MessageParser::count_trailer(std::size_t size) {
  trailer_bytes_ += size;
  return trailer_bytes_ > limits_.bytes ? HPE_USER : 0;
}

ParseStatus MessageParser::fail(ParseStatus status, std::string_view why) {
  complaint_ = why;
  return status;
}

ParseStatus MessageParser::parse_head(std::string_view buffer) {
  if (head_done_) return ParseStatus::done;
  if (!begun_) {
    if (buffer.empty()) return ParseStatus::need_more;
    head_.fields.reserve(16);
    head_done_ = direction_ == Direction::request ? read_plain_request_head(buffer, limits_, head_)
                                                  : read_plain_response_head(buffer, limits_, head_);
    if (head_done_) return ParseStatus::done;
    begun_ = true;
    head_.clear();
  }
  const std::size_t from = fed_;
  base_ = buffer.data();
  const auto code = llhttp_execute(&parser_, buffer.data() + from, buffer.size() - from);
  const std::size_t stopped =
      code == HPE_OK ? buffer.size() : static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - buffer.data());
  fed_ = stopped;
  if (const auto lines = check_lines(buffer, from, stopped); lines != ParseStatus::done) return lines;
  if (head_done_) {
    if (stopped > limits_.bytes) return fail(ParseStatus::too_large, "the message head is too large");
    head_.size = static_cast<std::uint32_t>(stopped);
    finish_head();
    return complaint_.empty() ? ParseStatus::done : ParseStatus::malformed;
  }
  if (code == HPE_USER) return fail(ParseStatus::too_large, "the message head has too many fields");
  if (code != HPE_OK) return fail(ParseStatus::malformed, llhttp_get_error_reason(&parser_));
  if (buffer.size() >= limits_.bytes) return fail(ParseStatus::too_large, "the message head is too large");
  return ParseStatus::need_more;
}

ParseStatus MessageParser::check_lines(std::string_view buffer, std::size_t from, std::size_t to) {
  // A line that begins with a blank continues the one before (obs-fold), a LF without its CR ends one only for
  // some readers: both are ways to show two parsers two messages, and both are refused.
  std::size_t at = from == 0 ? 0 : from - 1;
  while (true) {
    const auto* lf = static_cast<const char*>(std::memchr(buffer.data() + at, '\n', to - at));
    if (lf == nullptr) return ParseStatus::done;
    const auto place = static_cast<std::size_t>(lf - buffer.data());
    if (place == 0 || buffer[place - 1] != '\r') return fail(ParseStatus::malformed, "a line ends with LF alone");
    if (place + 1 < to && (buffer[place + 1] == ' ' || buffer[place + 1] == '\t')) {
      return fail(ParseStatus::malformed, "a header field is folded over lines");
    }
    at = place + 1;
    if (at >= to) return ParseStatus::done;
  }
}

void MessageParser::finish_head() {
  head_.status = parser_.status_code;
  head_.minor = parser_.http_minor;
  if (parser_.http_major != 1 || parser_.http_minor > 1) {
    complaint_ = "the version is not HTTP/1.0 or HTTP/1.1";
    return;
  }
  head_.upgrade = parser_.upgrade != 0;
  head_.keep_alive =
      (parser_.flags & F_CONNECTION_CLOSE) == 0 && (head_.minor == 1 || (parser_.flags & F_CONNECTION_KEEP_ALIVE) != 0);
  if ((parser_.flags & F_TRANSFER_ENCODING) != 0) {
    if ((parser_.flags & F_CHUNKED) != 0) {
      head_.body = BodyKind::chunked;
    } else if (direction_ == Direction::request) {
      complaint_ = "the last transfer coding is not chunked";
    } else {
      head_.body = BodyKind::until_close;
    }
  } else if ((parser_.flags & F_CONTENT_LENGTH) != 0) {
    head_.content_length = parser_.content_length;
    head_.body = head_.content_length > 0 ? BodyKind::length : BodyKind::none;
  } else if (direction_ == Direction::response) {
    head_.body = BodyKind::until_close;
  }
  if (direction_ == Direction::response && (head_.status < 200 || head_.status == 204 || head_.status == 304)) {
    head_.body = BodyKind::none;
  }
  if (head_.body == BodyKind::until_close) head_.keep_alive = false;
}

MessageParser::Chunks MessageParser::decode_chunks(std::string_view bytes, std::vector<std::string_view>& data) {
  data_ = &data;
  const std::size_t spans_before = data.size();
  llhttp_resume(&parser_);
  const auto code = llhttp_execute(&parser_, bytes.data(), bytes.size());
  data_ = nullptr;
  for (std::size_t i = spans_before; i < data.size(); ++i) chunk_data_ += data[i].size();
  chunk_bytes_ += bytes.size();
  // A one-byte chunk costs six; more is extensions or zeros without end.
  if (!body_done_ && chunk_bytes_ > limits_.bytes + 16 * chunk_data_) {
    complaint_ = "the chunked framing is nearly all framing";
    return {ParseStatus::malformed, bytes.size()};
  }
  if (body_done_) return {ParseStatus::done, static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data())};
  if (code == HPE_OK) return {ParseStatus::need_more, bytes.size()};
  complaint_ = llhttp_get_error_reason(&parser_);
  return {ParseStatus::malformed, static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data())};
}

}  // namespace evenkeel::http
