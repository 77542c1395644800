#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "http/address.hpp"
#include "http/loop.hpp"

namespace evenkeel::http {

enum class IoStatus : std::uint8_t {
  ok,           ///< `bytes` were moved
  would_block,  ///< nothing to do until the stream wakes its fiber
  end,          ///< the peer sent its FIN and all before it was read
  failed,       ///< reset, refused, unreachable: see Stream::error()
  timed_out,    ///< the fiber's deadline passed first
};

struct IoResult {
  IoStatus status = IoStatus::would_block;
  std::size_t bytes = 0;
};

/// A connected TCP socket: the whole of what the relay sees of a transport. Read some, write, close; deadlines
/// are the fiber's. try_* never wait; the awaiting forms end at the bound fiber's deadline. Readiness is
/// edge-triggered and remembered, the peer's FIN is sticky, so data and FIN in one wake-up are both seen.
/// Lives on one loop; wakes the fiber it is bound to (none while it idles in a connection pool).
class Stream {
 public:
  Stream() = default;
  Stream(EventLoop& loop, int fd);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { close(); }

  /// Begins to connect without waiting; finish with connected(). An error may show at once or there.
  [[nodiscard]] static Stream begin_connect(EventLoop& loop, const Address& to);
  /// Whether a begun connect is settled: ok, failed, or would_block.
  IoStatus try_connected();
  /// Waits until it is: ok, failed or timed_out.
  Task<IoStatus> connected();

  void bind(Fiber* fiber) { fiber_ = fiber; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int descriptor() const { return fd_; }
  /// The peer's FIN or an error has arrived (bytes before it may still be unread).
  [[nodiscard]] bool peer_closed() const { return peer_closed_ || broken_; }
  /// Reset or another hard error.
  [[nodiscard]] bool broken() const { return broken_; }
  /// Something has arrived that nobody has read, or the peer closed: for a connection that should be silent.
  [[nodiscard]] bool has_news() const { return readable_ || peer_closed(); }
  [[nodiscard]] int error() const { return error_; }

  IoResult try_read(std::span<char> into);
  /// Gathers; may write less than all.
  IoResult try_write(std::span<const iovec> parts);
  IoResult try_write(std::string_view bytes);

  Task<IoResult> read_some(std::span<char> into);
  Task<IoStatus> write_all(std::string_view bytes);

  /// Closes at once. Unread bytes make the kernel send a reset, which is how an engine learns soonest.
  void close();
  /// No more bytes from us; used only where the answer is complete.
  void finish_sending();
  /// Closes with a reset, so that the peer cannot take what it got for a complete answer.
  void abort();

  /// For EventLoop.
  void on_events(std::uint32_t events);

 private:
  IoResult write_failed();

  EventLoop* loop_ = nullptr;
  Fiber* fiber_ = nullptr;
  int fd_ = -1;
  int error_ = 0;
  bool readable_ = true;
  bool writable_ = true;
  bool wants_write_ = false;
  bool peer_closed_ = false;
  bool broken_ = false;
};

/// The loop thread's scratch for reads that are handled before the next wait. 64 KiB, never kept.
[[nodiscard]] std::span<char> scratch_buffer();

}  // namespace evenkeel::http
