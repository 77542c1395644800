#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "pressure/host.hpp"
#include "pressure/judge.hpp"

namespace evenkeel::pressure {

inline Host recorded(std::string_view tree) {
  return Host(EVENKEEL_SOURCE_DIR "/tests/data/pressure/" + std::string(tree));
}

inline Time at(double seconds) { return Time() + from_seconds(seconds); }

/// What is known of a recorded box five seconds after it was first looked at.
inline Figures figures_of(const std::string& tree) {
  Meter meter;
  (void)meter.take(recorded(tree).read(at(0)));
  return meter.take(recorded(tree + "-5s-later").read(at(5)));
}

template <class T>
std::string why(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace evenkeel::pressure
