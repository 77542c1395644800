#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace evenkeel::report {

/// Tells how far a long run is. On a terminal it redraws one line a few times a second; elsewhere (a log, CI)
/// it writes a whole line every ten seconds. Not thread-safe.
class Progress {
 public:
  /// Where the bytes go; for the real thing write to stderr and ask isatty(2).
  using Sink = std::function<void(std::string_view)>;

  static constexpr Duration redraw_every = std::chrono::milliseconds(200);
  static constexpr Duration line_every = std::chrono::seconds(10);

  /// `total` 0: unknown, no bar and no remaining time.
  Progress(const Clock& clock, Sink sink, bool terminal, std::string label, std::uint64_t total);

  /// `detail` is a few words of the caller's. Cheap when it is not yet time to draw.
  void update(std::uint64_t done, std::string_view detail = {});
  /// Draws the last state whatever the time, and ends the line. Later calls do nothing.
  void finish(std::uint64_t done, std::string_view detail = {});

 private:
  void draw(std::uint64_t done, std::string_view detail);
  [[nodiscard]] std::string line(std::uint64_t done, std::string_view detail) const;

  const Clock& clock_;
  Sink sink_;
  bool terminal_;
  std::string label_;
  std::uint64_t total_;
  Time start_;
  Time next_;
  bool finished_ = false;
};

}  // namespace evenkeel::report
