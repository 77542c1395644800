#include "engines/bootstrap.hpp"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "engines/json.hpp"
#include "engines/members.hpp"

namespace evenkeel::engines {

std::int64_t bootstrap_room(std::uint64_t random, std::uint32_t rank, std::uint32_t ranks) {
  constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t drawn = random >> 1U;
  std::uint64_t room = drawn - drawn % ranks + rank;
  if (room > last) room -= ranks;
  return static_cast<std::int64_t>(room);
}

Result<std::string> bootstrap_body(std::string_view body, const BootstrapServer& server,
                                   std::span<const std::int64_t> rooms) {
  if (!each_member(body, [](std::string_view, std::string_view) {})) return failure("the body is no JSON object");
  std::string host;
  append_json_string(host, server.host.find(':') == std::string::npos ? server.host : "[" + server.host + "]");
  if (rooms.size() == 1) {
    return with_members(body, fmt::format(R"("bootstrap_host":{},"bootstrap_port":{},"bootstrap_room":{})", host,
                                          server.port, rooms.front()));
  }
  std::string hosts, ports;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    hosts += (i == 0 ? "" : ",") + host;
    ports += fmt::format("{}{}", i == 0 ? "" : ",", server.port);
  }
  return with_members(body, fmt::format(R"("bootstrap_host":[{}],"bootstrap_port":[{}],"bootstrap_room":[{}])", hosts,
                                        ports, fmt::join(rooms, ",")));
}

std::optional<DisaggregationInfo> read_disaggregation(std::string_view server_info) {
  const Json json(server_info);
  if (!json.root()) return std::nullopt;
  DisaggregationInfo info;
  info.mode = text_member(*json.root(), "disaggregation_mode");
  if (info.mode.empty()) return std::nullopt;
  const auto port = amount_member(*json.root(), "disaggregation_bootstrap_port");
  if (port && *port >= 1 && *port <= 65535) info.bootstrap_port = static_cast<std::uint16_t>(*port);
  return info;
}

}  // namespace evenkeel::engines
