#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fleet/boxes.hpp"
#include "load/record.hpp"

namespace evenkeel::load {

/// A box whose rates are known beforehand.
struct KnownBox {
  std::string name;  ///< of the worker, as receipts tell it; empty: by place in the order of names
  fleet::Box box;
};

inline constexpr std::size_t most_boxes = 64;

/// "18.18,50.71;49.24,87.82", or with names "thor=18.18,50.71;spark=49.24,87.82": boxes by semicolons, all with a name
/// or none. Errors name the box and what is allowed.
[[nodiscard]] Result<std::vector<KnownBox>> parse_known_boxes(std::string_view text);

struct BoxShare {
  std::string name;
  std::size_t slots = 0;             ///< known, or the most requests that ran together
  std::optional<double> rate_one;    ///< tokens a second with one request running; nothing: never seen
  std::optional<double> rate_full;   ///< and with all slots busy
  std::vector<std::int64_t> unseen;  ///< levels in between that never ran: taken on the line between their neighbours
  std::int64_t requests = 0;         ///< completed
  std::int64_t output_tokens = 0;
};

/// What the boxes that served a run could have done with it, by their rates alone: prefill, network and the wait of the
/// first token are not in it.
struct BoxReport {
  bool measured = false;  ///< rates of this run, else known ones
  std::vector<BoxShare> boxes;
  double tokens_per_s = 0;  ///< of completed requests, from the first scheduled arrival to the last end
  double ceiling = 0;       ///< tokens a second of the same split, each box busy whenever it has something to do
  double optimum = 0;       ///< of the best split
  bool exact = false;       ///< else optimum is a bound: all boxes at their best rates whenever there is work
  std::vector<std::int64_t> optimum_split;  ///< requests by box, if exact

  [[nodiscard]] double efficiency() const { return optimum > 0 ? tokens_per_s / optimum : 0; }
};

/// Nothing and the reason if it cannot be said: no receipts, no streamed answer, --boxes that do not fit the workers.
/// The optimum is exact for a burst of at most 2048 equal requests at up to 9 boxes (arrivals within a hundredth of the
/// run). `workers` is what RequestRecord::worker points into. O(n log n), and for the exact optimum O(boxes n^2).
[[nodiscard]] Result<BoxReport> box_report(std::span<const RequestRecord> records, std::span<const std::string> workers,
                                           std::span<const KnownBox> known);

}  // namespace evenkeel::load
