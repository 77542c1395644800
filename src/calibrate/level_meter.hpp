#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "calibrate/knee.hpp"

namespace evenkeel::calibrate {

/// Measures one level: so many streams, each of which sends its next request as soon as its last one has ended. What is
/// measured lies between two instants:
///
/// - it opens when every stream has ended its first request, the warm-up;
/// - it closes when `per_stream` times the level requests have ended in it. No stream begins another then.
///
/// Between them all streams are busy, so a level that does not divide into the engine's slots is not judged by a tail
/// in which slots stand empty. Throughput is the tokens that came between them over the time between them. Whoever
/// drives it says the time; calls come in the order of their times.
class LevelMeter {
 public:
  /// `level` >= 1.
  explicit LevelMeter(std::int64_t level, std::int64_t per_stream = 4);

  /// Of the stream, 0 to level - 1.
  void began(std::size_t stream, Time now);
  /// Events with output of its request came.
  void content(std::size_t stream, Time now, std::int64_t events);
  /// Its request has ended; `tokens` as the engine counts its output, else each event counts as one. Whether the stream
  /// is to begin another.
  [[nodiscard]] bool ended(std::size_t stream, Time now, std::optional<std::int64_t> tokens);

  /// Requests that have ended while it was open, of wanted() that close it.
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t wanted() const { return wanted_; }
  /// Whole once it has closed and every request has ended.
  [[nodiscard]] LevelSample sample() const;

 private:
  struct Stream {
    bool warm = false;
    Time began{};
    std::int64_t events = 0;          ///< of the request
    std::int64_t events_in_open = 0;  ///< of these, while the window was open
  };
  [[nodiscard]] bool open() const { return opened_ && !closed_; }

  std::vector<Stream> streams_;
  std::int64_t wanted_;
  std::size_t warm_ = 0;
  std::optional<Time> opened_;
  std::optional<Time> closed_;
  std::int64_t requests_ = 0;
  double tokens_ = 0;
  std::vector<double> ttfts_s_;
};

}  // namespace evenkeel::calibrate
