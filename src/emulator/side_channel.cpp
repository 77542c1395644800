#include "emulator/side_channel.hpp"

#include <chrono>
#include <utility>

#include "http/client.hpp"

namespace evenkeel::emulator {

http::Task<std::optional<std::string>> tell_peer(http::Fiber& fiber, Peer peer, std::string path, std::string body) {
  constexpr Duration deadline = std::chrono::seconds(5);
  constexpr std::size_t longest_answer = 1024;
  const auto to = http::resolve(peer.host, peer.port);
  if (!to) co_return std::nullopt;
  http::ClientRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.host = to->text();
  request.fields.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  http::FetchResult result =
      co_await http::fetch(fiber, *to, std::move(request), fiber.loop().now() + deadline, longest_answer);
  if (result.status != http::ClientStatus::ok || result.code != 200) co_return std::nullopt;
  co_return std::move(result.body);
}

}  // namespace evenkeel::emulator
