#include "http/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <cstring>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::http {

Address::Address(const sockaddr* address, socklen_t size) : size_(size) { std::memcpy(&storage_, address, size); }

std::uint16_t Address::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

bool Address::is_loopback() const {
  if (family() == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
  }
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 24U) == 127;
}

std::string Address::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, text, sizeof text);
  } else {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text, sizeof text);
  }
  return text;
}

std::string Address::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host(), port()) : fmt::format("{}:{}", host(), port());
}

std::string Url::authority() const {
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Url> parse_url(std::string_view text) {
  const std::string whole(text);
  const auto wrong = [&](std::string_view why) {
    return failure(fmt::format("\"{}\" is no worker URL: {} (allowed: http://host[:port][/path])", whole, why));
  };
  constexpr std::string_view plain = "http://";
  if (text.starts_with("https://"))
    return wrong("TLS to workers is not supported yet, use http:// over a trusted network");
  if (!text.starts_with(plain)) return wrong("it does not begin with http://");
  text.remove_prefix(plain.size());

  Url url;
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    auto path = text.substr(slash);
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.find_first_of("?# \t\r\n") != std::string_view::npos)
      return wrong("a query or fragment has no place in it");
    url.base_path = path;
    text = text.substr(0, slash);
  }
  if (text.find('@') != std::string_view::npos) return wrong("credentials in the URL are not taken, use a key setting");
  auto port_at = text.rfind(':');
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return wrong("the IPv6 address is not closed by ]");
    url.host = text.substr(1, close - 1);
    port_at = close + 1 < text.size() ? close + 1 : std::string_view::npos;
    if (port_at != std::string_view::npos && text[port_at] != ':') return wrong("after ] comes only :port");
  } else {
    url.host = text.substr(0, port_at);
  }
  if (port_at != std::string_view::npos) {
    const auto port = parse_unsigned(text.substr(port_at + 1));
    if (!port || *port == 0 || *port > 65535) return wrong("the port is not a number from 1 to 65535");
    url.port = static_cast<std::uint16_t>(*port);
  }
  if (url.host.empty()) return wrong("the host is empty");
  if (url.host.find_first_of(" \t\r\n\"<>\\^`{|}") != std::string::npos)
    return wrong("the host has a character it cannot have");
  return url;
}

Result<Address> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return failure(fmt::format("cannot resolve \"{}\": {}", host, gai_strerror(code)));
  Address address(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

}  // namespace evenkeel::http
