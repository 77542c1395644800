#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    iov_.clear();
    std::size_t total = 0;
    for (const auto part : parts) {
      if (part.empty()) continue;
      iov_.push_back({const_cast<char*>(part.data()), part.size()});
      total += part.size();
    }
    if (total == 0) return true;
    // The kernel takes at most IOV_MAX parts; many small events in one read may exceed it.
    const auto result = stream_.try_write(std::span(iov_).first(std::min<std::size_t>(iov_.size(), 512)));
    if (result.status == http::IoStatus::failed) return false;
    std::size_t skip = result.bytes;
    if (skip == total) return true;
    for (const iovec& part : iov_) {
      if (skip >= part.iov_len) {
        skip -= part.iov_len;
        continue;
      }
      kept_.append(static_cast<const char*>(part.iov_base) + skip, part.iov_len - skip);
      skip = 0;
    }
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
  http::Stream& stream_;
  std::string kept_;
  std::size_t at_ = 0;
  static thread_local inline std::vector<iovec> iov_;
};

}  // namespace evenkeel::gateway
