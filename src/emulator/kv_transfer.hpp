#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/json_body.hpp"

namespace evenkeel::emulator {

/// The field kv_transfer_params of a request: where the KV of its prompt goes to or comes from, as vLLM's NIXL
/// connector has it (pull).
struct KvTransferParams {
  bool remote_decode = false;   ///< somebody else decodes: keep the KV and say where it lies
  bool remote_prefill = false;  ///< somebody else has prefilled: pull the KV from where the rest says
  std::string engine_id;
  std::string request_id;  ///< as the prefill engine calls it
  std::string host;
  std::uint16_t port = 0;

  /// All is there that a pull needs. vLLM warns of others and prefills.
  [[nodiscard]] bool can_pull() const {
    return remote_prefill && !engine_id.empty() && !request_id.empty() && !host.empty() && port != 0;
  }
};

/// None if the field is absent or null; what is no object is a fault of the body. Its members are taken as far as they
/// are of the right kind, others are as good as absent.
[[nodiscard]] std::optional<KvTransferParams> read_kv_transfer(JsonBody& body);

/// What a prefill engine answers: of `tokens` tokens in `blocks` blocks, numbered from `first_block`.
struct KvOffer {
  std::string engine_id;
  std::string request_id;
  std::string host;
  std::uint16_t port = 0;
  std::int64_t tokens = 0;
  std::int64_t blocks = 0;
  std::int64_t first_block = 1;
};
[[nodiscard]] std::string kv_offer_json(const KvOffer& offer);

}  // namespace evenkeel::emulator
