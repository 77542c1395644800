#include "engines/message_pack.hpp"

#include <fmt/format.h>

// The library's header takes `bool` for something that C has not.
#define bool bool
extern "C" {
#include <mpack.h>
}
#undef bool

namespace evenkeel::engines {

namespace {

constexpr int deepest = 32;

}  // namespace

std::string_view name_of(MessagePackReader::Type type) {
  using Type = MessagePackReader::Type;
  switch (type) {
    case Type::nil: return "nil";
    case Type::boolean: return "a boolean";
    case Type::integer: return "an integer";
    case Type::number: return "a number";
    case Type::text: return "a text";
    case Type::bytes: return "bytes";
    case Type::list: return "a list";
    case Type::map: return "a map";
    case Type::extension: return "an extension";
  }
  return "";
}

Result<MessagePackReader::Value> MessagePackReader::next() {
  mpack_tokbuf_t buffer{};
  mpack_token_t token{};
  const char* at = left_.data();
  std::size_t size = left_.size();
  const int status = size == 0 ? int{MPACK_EOF} : mpack_read(&buffer, &at, &size, &token);
  if (status == MPACK_EOF) return failure("it ends in the middle");
  if (status != MPACK_OK) return failure(fmt::format("{} bytes before its end stands no value", left_.size()));
  left_ = std::string_view(at, size);
  Value value;
  switch (token.type) {
    case MPACK_TOKEN_NIL: return value;
    case MPACK_TOKEN_BOOLEAN:
      value.type = Type::boolean;
      value.bits = mpack_unpack_boolean(token) ? 1 : 0;
      return value;
    case MPACK_TOKEN_UINT:
      value.type = Type::integer;
      value.bits = mpack_unpack_uint(token);
      value.number = static_cast<double>(value.bits);
      return value;
    case MPACK_TOKEN_SINT: {
      const auto number = mpack_unpack_sint(token);
      value.type = Type::integer;
      value.negative = number < 0;
      value.bits = static_cast<std::uint64_t>(number);
      value.number = static_cast<double>(number);
      return value;
    }
    case MPACK_TOKEN_FLOAT:
      value.type = Type::number;
      value.number = mpack_unpack_float_fast(token);
      return value;
    case MPACK_TOKEN_ARRAY:
    case MPACK_TOKEN_MAP:
      value.type = token.type == MPACK_TOKEN_ARRAY ? Type::list : Type::map;
      value.items = token.length;
      // An item takes a byte at least, a pair two.
      if (value.items > left_.size() / (value.type == Type::map ? 2 : 1)) return failure("it ends in the middle");
      return value;
    case MPACK_TOKEN_BIN:
    case MPACK_TOKEN_STR:
    case MPACK_TOKEN_EXT:
      value.type = token.type == MPACK_TOKEN_STR   ? Type::text
                   : token.type == MPACK_TOKEN_BIN ? Type::bytes
                                                   : Type::extension;
      if (token.length > left_.size()) return failure("it ends in the middle");
      value.text = left_.substr(0, token.length);
      left_.remove_prefix(token.length);
      return value;
    case MPACK_TOKEN_CHUNK: break;
  }
  return failure("it holds what is no value");
}

Result<void> MessagePackReader::skip_inside(const Value& of) { return skip(of, 0); }

Result<void> MessagePackReader::skip(const Value& of, int depth) {
  if (of.type != Type::list && of.type != Type::map) return {};
  if (depth == deepest) return failure(fmt::format("it is more than {} deep", deepest));
  for (std::size_t left = of.type == Type::map ? 2 * of.items : of.items; left > 0; --left) {
    const auto inner = next();
    if (!inner) return tl::unexpected(inner.error());
    if (auto done = skip(*inner, depth + 1); !done) return done;
  }
  return {};
}

}  // namespace evenkeel::engines
