#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace evenkeel::http {

/// A resolved TCP address, IPv4 or IPv6.
class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t size);

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const { return size_; }
  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_loopback() const;
  /// "127.0.0.1:80", "[::1]:80"
  [[nodiscard]] std::string text() const;
  /// The address without the port.
  [[nodiscard]] std::string host() const;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// An http URL taken apart. `base_path` has no trailing slash ("" for the root).
struct Url {
  std::string host;  // without brackets
  std::uint16_t port = 80;
  std::string base_path;

  /// "host:port" as a Host header takes it; IPv6 in brackets.
  [[nodiscard]] std::string authority() const;
};

/// Accepts http://host[:port][/path]. Says what is wrong otherwise; https is refused in words.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// Blocks while it asks the resolver: for start-up and the control thread only.
[[nodiscard]] Result<Address> resolve(const std::string& host, std::uint16_t port);

}  // namespace evenkeel::http
