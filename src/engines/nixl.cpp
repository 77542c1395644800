#include "engines/nixl.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace evenkeel::engines {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view transfer_key = "kv_transfer_params";

/// The bytes of a value, perhaps with blanks behind it.
simdjson::simdjson_result<std::string_view> bytes_of(ondemand::value value) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return error;
    return object.raw_json();
  }
  if (type == ondemand::json_type::array) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return error;
    return array.raw_json();
  }
  return value.raw_json_token();
}

/// Calls take(key, bytes of the value) for each top-level member, in order. False if `json` is no object.
template <class Take>
bool each_member(std::string_view json, Take take) {
  const simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) || document.get_object().get(object)) return false;
  for (auto member : object) {
    ondemand::field field;
    std::string_view key, bytes;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return false;
    if (bytes_of(field.value()).get(bytes)) return false;
    take(key, bytes);
  }
  return true;
}

}  // namespace

Result<std::string> nixl_prefill_body(std::string_view body) {
  // Of one token there is no stream whose options count, nor a least number of tokens beyond it.
  constexpr std::array<std::string_view, 7> ours = {"stream",
                                                    "max_tokens",
                                                    "max_completion_tokens",
                                                    "stream_options",
                                                    "min_tokens",
                                                    "min_completion_tokens",
                                                    "kv_transfer_params"};
  std::string out = "{";
  bool newer = false;
  const bool whole = each_member(body, [&](std::string_view key, std::string_view value) {
    newer = newer || key == "max_completion_tokens";
    if (std::find(ours.begin(), ours.end(), key) != ours.end()) return;
    append_json_string(out, key);
    out += ':';
    out += value;
    out += ',';
  });
  if (!whole) return failure("the body is no JSON object");
  out += R"("stream":false,"max_tokens":1,)";
  if (newer) out += R"("max_completion_tokens":1,)";
  out += R"("kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,)"
         R"("remote_block_ids":null,"remote_host":null,"remote_port":null}})";
  return out;
}

std::optional<std::string> nixl_transfer_params(std::string_view answer) {
  std::optional<std::string> params;
  const bool whole = each_member(answer, [&](std::string_view key, std::string_view value) {
    if (key != transfer_key) return;
    params.reset();
    if (value.starts_with('{')) params = trim(value);
  });
  return whole ? params : std::nullopt;
}

std::string nixl_decode_body(std::string_view body, std::string_view params) {
  const std::size_t end = body.rfind('}');
  const std::string_view before = body.substr(0, end);
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  const bool first = last != std::string_view::npos && before[last] == '{';
  std::string out;
  out.reserve(body.size() + params.size() + transfer_key.size() + 4);
  out += before;
  if (!first) out += ',';
  out += '"';
  out += transfer_key;
  out += "\":";
  out += params;
  out += body.substr(end);
  return out;
}

}  // namespace evenkeel::engines
