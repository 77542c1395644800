#include "emulator/kv_transfer.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::emulator {
namespace {

constexpr std::size_t longest_text = 1024;

std::string text_of(simdjson::dom::object object, std::string_view key) {
  std::string_view text;
  if (object.at_key(key).get(text) != simdjson::SUCCESS || text.size() > longest_text) return {};
  return std::string(text);
}

bool flag_of(simdjson::dom::object object, std::string_view key) {
  bool flag = false;
  return object.at_key(key).get(flag) == simdjson::SUCCESS && flag;
}

}  // namespace

std::optional<KvTransferParams> read_kv_transfer(JsonBody& body) {
  const auto field = body.find("kv_transfer_params");
  if (!field) return std::nullopt;
  simdjson::dom::object object;
  if (field->get(object) != simdjson::SUCCESS) {
    body.reject("kv_transfer_params", "an object");
    return std::nullopt;
  }
  KvTransferParams params;
  params.remote_decode = flag_of(object, "do_remote_decode");
  params.remote_prefill = flag_of(object, "do_remote_prefill");
  params.engine_id = text_of(object, "remote_engine_id");
  params.request_id = text_of(object, "remote_request_id");
  params.host = text_of(object, "remote_host");
  std::int64_t port = 0;
  if (object.at_key("remote_port").get(port) == simdjson::SUCCESS && port > 0 && port <= 65535) {
    params.port = static_cast<std::uint16_t>(port);
  }
  return params;
}

std::string kv_offer_json(const KvOffer& offer) {
  std::string out = R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[)";
  for (std::int64_t i = 0; i < offer.blocks; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", offer.first_block + i);
  }
  out += R"(]],"remote_engine_id":)";
  append_json_string(out, offer.engine_id);
  out += R"(,"remote_request_id":)";
  append_json_string(out, offer.request_id);
  out += R"(,"remote_host":)";
  append_json_string(out, offer.host);
  fmt::format_to(std::back_inserter(out),
                 R"(,"remote_port":{},"tp_size":1,"remote_num_tokens":{},"remote_blocks_expiry_time":null,)"
                 R"("transfer_mode":"pull"}})",
                 offer.port, offer.tokens);
  return out;
}

}  // namespace evenkeel::emulator
