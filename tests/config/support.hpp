#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "config/load.hpp"

namespace evenkeel::config {

/// What a command line would give.
inline FlagValues parsed(std::vector<std::string> words) {
  CLI::App app;
  FlagValues values;
  add_serve_flags(app, values);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  app.parse(reversed);
  return values;
}

inline Result<ServeSettings> of_text(const std::string& toml, const std::vector<std::string>& words = {}) {
  return load_text(toml, "router.toml", parsed(words));
}
inline Result<ServeSettings> of_flags(const std::vector<std::string>& words) { return load(parsed(words)); }

/// The error, or "" if there was none.
template <class T>
std::string why(const Result<T>& result) {
  return result ? "" : result.error().message;
}

#define EXPECT_SAYS(result, part) EXPECT_NE(why(result).find(part), std::string::npos) << "it said: " << why(result)

}  // namespace evenkeel::config
