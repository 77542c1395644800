#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "http/stream.hpp"

namespace evenkeel::gateway {

/// Writes to one stream without waiting and keeps what did not fit, in order. While something is kept the
/// caller reads no more from the other side: what is kept never exceeds one read and its framing.
class Outbox {
 public:
  explicit Outbox(http::Stream& stream) : stream_(stream) {}

  /// False once the stream is broken.
  bool put(std::span<const std::string_view> parts) {
    if (!flush()) return false;
    if (!kept_.empty()) {
      for (const auto part : parts) kept_ += part;
      return true;
    }
    std::size_t total = 0;
    for (const auto part : parts) total += part.size();
    if (total == 0) return true;
    const auto result = total <= joined_.size() ? stream_.try_write(join(parts)) : stream_.try_write(gather(parts));
    if (result.status == http::IoStatus::failed) return false;
    if (result.bytes < total) keep_behind(parts, result.bytes);
    return true;
  }

  bool flush() {
    while (!kept_.empty()) {
      const auto result = stream_.try_write(std::string_view(kept_).substr(at_));
      if (result.status == http::IoStatus::would_block) return true;
      if (result.status != http::IoStatus::ok) return false;
      at_ += result.bytes;
      if (at_ < kept_.size()) continue;
      std::string().swap(kept_);
      at_ = 0;
    }
    return true;
  }

  [[nodiscard]] bool clear() const { return kept_.empty(); }

 private:
  /// A copy of a few hundred bytes is cheaper than the kernel's walk over a list of parts.
  static std::string_view join(std::span<const std::string_view> parts) {
    char* to = joined_.data();
    for (const auto part : parts) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    return {joined_.data(), static_cast<std::size_t>(to - joined_.data())};
  }

  /// What does not fit into one call is kept.
  static std::span<const iovec> gather(std::span<const std::string_view> parts) {
    std::size_t count = 0;
    for (const auto part : parts) {
      if (part.empty()) continue;
      if (count == iov_.size()) break;
      iov_[count++] = {const_cast<char*>(part.data()), part.size()};
    }
    return std::span(iov_).first(count);
  }

  void keep_behind(std::span<const std::string_view> parts, std::size_t sent) {
    for (const auto part : parts) {
      const std::size_t gone = std::min(sent, part.size());
      kept_ += part.substr(gone);
      sent -= gone;
    }
  }

  http::Stream& stream_;
  std::string kept_;
  std::size_t at_ = 0;
  static constinit thread_local inline std::array<iovec, 512> iov_{};  // IOV_MAX is 1024
  static constinit thread_local inline std::array<char, 2048> joined_{};
};

}  // namespace evenkeel::gateway
