#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "forecast/boosted_trees.hpp"

namespace evenkeel::forecast {

/// What `evenkeel forecast train` writes: over the features of features.hpp, one set of trees for P(r <= horizon) and
/// one for E[r | r <= horizon], r the remaining tokens.
///
/// The file is text, a line an entry, and ends in a checksum of all before it:
///   evenkeel-forecast 1
///   horizon 80
///   trained REQUESTS requests SAMPLES samples
///   features prompt age ...
///   trees within logistic BASE COUNT        and later: trees remaining identity BASE COUNT
///   tree NODES                              COUNT times, each followed by its nodes:
///   FEATURE THRESHOLD LEFT l|r              a split; the right child is next to LEFT; l or r: where NaN goes
///   leaf VALUE
///   checksum HEX
struct LearnedModel {
  std::int64_t horizon = 80;
  std::uint64_t requests = 0;  ///< it was trained with
  std::uint64_t samples = 0;
  BoostedTrees within;     ///< P(r <= horizon)
  BoostedTrees remaining;  ///< E[r | r <= horizon]
};

inline constexpr std::int64_t longest_horizon = 10'000;
inline constexpr std::size_t largest_model_file = 64 << 20;  ///< bytes

[[nodiscard]] std::string to_text(const LearnedModel& model);
/// Errors name the line, what was wrong and what is allowed. Memory is bounded by the text's size.
[[nodiscard]] Result<LearnedModel> parse_learned_model(std::string_view text);
[[nodiscard]] Result<LearnedModel> read_learned_model(const std::string& path);
[[nodiscard]] Result<void> write_learned_model(const LearnedModel& model, const std::string& path);

}  // namespace evenkeel::forecast
