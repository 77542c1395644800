#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "forecast/history.hpp"

namespace evenkeel::forecast {

struct ModelHistory {
  std::string model;                ///< as its engines serve it
  std::vector<EndedRequest> ended;  ///< oldest first
  friend bool operator==(const ModelHistory&, const ModelHistory&) = default;
};

/// What is kept of forecasts between two runs of a router: not their tables, but the ended requests they learn from, so
/// that any kind of forecast can be taught by it. No text of a prompt or an answer is in it.
///
/// The file is text, a line an entry, and ends in a checksum of all before it:
///   evenkeel-forecast-history 1
///   salt HEX                          of the prompt keys, which mean nothing without it
///   model COUNT NAME                  its name in hexadecimal, each model once; followed by COUNT lines:
///   PROMPT OUTPUT c|b KEY             tokens, completed or broken off, key in hexadecimal
///   checksum HEX
struct SavedHistory {
  std::uint64_t salt = 0;
  std::vector<ModelHistory> models;
  friend bool operator==(const SavedHistory&, const SavedHistory&) = default;
};

inline constexpr std::size_t most_models = 64;
inline constexpr std::size_t history_length = 8192;  ///< ended requests a model
inline constexpr std::size_t longest_model_name = 1024;
inline constexpr std::size_t largest_history_file = 64 << 20;  ///< bytes

[[nodiscard]] std::string to_text(const SavedHistory& history);
/// All or nothing. Errors name the line, what was wrong and what is allowed.
[[nodiscard]] Result<SavedHistory> parse_history(std::string_view text);
[[nodiscard]] Result<SavedHistory> read_history(const std::string& path);
/// Readable by its owner alone. Written beside it as path.new and renamed, so that whoever reads it finds the old file
/// or the new one; on the disk when this returns.
[[nodiscard]] Result<void> write_history(const SavedHistory& history, const std::string& path);

}  // namespace evenkeel::forecast
