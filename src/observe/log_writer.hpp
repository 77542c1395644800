#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.hpp"

namespace evenkeel::observe {

/// Appends whole lines to a file from many threads without making any of them wait for the disk: lines gather
/// in memory and a thread of its own writes them out ten times a second. Bounded: when the disk is too slow
/// lines are dropped and counted, requests are not.
class LogWriter {
 public:
  /// `path` "-" is standard output; a file is appended to, from a new line on, and made with mode 0640. `what` names it
  /// in errors. `alone`: refused while another process has it open so.
  [[nodiscard]] static Result<std::unique_ptr<LogWriter>> open(const std::string& path, std::string_view what,
                                                               bool alone = false);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// `line` ends with LF. Thread-safe.
  void append(std::string_view line);
  /// Lines that came too fast or that could not be written.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  static constexpr std::size_t limit = 16U << 20U;

 private:
  LogWriter(int fd, bool owned);
  void run();
  void write_out(std::string_view bytes);

  int fd_;
  bool owned_;
  std::mutex mutex_;
  std::string gathered_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace evenkeel::observe
