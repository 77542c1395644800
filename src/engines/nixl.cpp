#include "engines/nixl.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "engines/members.hpp"

namespace evenkeel::engines {

namespace {

constexpr std::string_view transfer_key = "kv_transfer_params";

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
  return with_members(body, "\"" + std::string(transfer_key) + "\":" + std::string(params));
}

}  // namespace evenkeel::engines
