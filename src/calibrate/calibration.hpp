#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "calibrate/knee.hpp"
#include "calibrate/options.hpp"
#include "fleet/rate_curve.hpp"

namespace evenkeel::calibrate {

/// What was measured, so that nothing else is taken for it.
struct Measured {
  std::string served_id;
  std::optional<std::int64_t> max_model_len;  ///< nothing: the engine does not tell
  std::string runtime;                        ///< of the adapters' names
  std::string version;                        ///< of the engine; empty: it does not tell

  friend bool operator==(const Measured&, const Measured&) = default;
};

/// Whether something is known on both sides and differs: another model, window, engine or version. Says which and the
/// two values, else "". What is not known is no evidence of a change.
[[nodiscard]] std::string difference(const Measured& then, const Measured& now);

/// How many requests an engine should have at once, and how fast it is at each level.
struct Calibration {
  std::string url;
  Measured measured;
  std::int64_t measured_at_ms = 0;  ///< Unix time
  Knee knee;
  Options options;
  std::vector<LevelSample> samples;  ///< by level
  std::vector<std::string> notes;    ///< what a reader should know of how it was measured

  [[nodiscard]] std::vector<fleet::RatePoint> rate_points() const;
};

/// One JSON object and a line feed; docs/calibrate.md tells every key.
[[nodiscard]] std::string to_json(const Calibration& calibration);
/// Reads such a text of a usable result. The error names line and column, or the key, what is there and what is
/// allowed; not the file. A key that is not known is an error. At most 1 MiB.
[[nodiscard]] Result<Calibration> read_calibration(std::string_view text);

}  // namespace evenkeel::calibrate
