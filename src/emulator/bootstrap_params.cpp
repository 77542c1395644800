#include "emulator/bootstrap_params.hpp"

namespace evenkeel::emulator {

std::optional<BootstrapParams> read_bootstrap(JsonBody& body) {
  constexpr std::int64_t default_port = 8998;
  const auto room = body.whole("bootstrap_room", 0, last_room);
  if (!room) return std::nullopt;
  BootstrapParams params;
  params.room = *room;
  params.prefill.host = body.text("bootstrap_host").value_or("");
  if (params.prefill.host.empty()) body.reject("bootstrap_host", "the host of the prefill engine");
  if (params.prefill.host.starts_with('[') && params.prefill.host.ends_with(']')) {
    params.prefill.host = params.prefill.host.substr(1, params.prefill.host.size() - 2);
  }
  params.prefill.port = static_cast<std::uint16_t>(body.whole("bootstrap_port", 1, 65535).value_or(default_port));
  return params;
}

}  // namespace evenkeel::emulator
