#include "redline/level_redline.hpp"

#include <algorithm>

namespace evenkeel::redline {

bool LevelRedline::sample(Time stamp, double headroom) {
  if (known_ && stamp <= stamp_) return false;
  const double before = level_;
  level_ = known_ ? eta_ * headroom + (1 - eta_) * level_ : headroom;
  slope_per_s_ = known_ ? (level_ - before) / to_seconds(stamp - stamp_) : 0;
  stamp_ = stamp;
  known_ = true;
  return true;
}

double LevelRedline::expected(Duration ahead) const {
  return std::min(level_, level_ + slope_per_s_ * to_seconds(ahead));
}

bool LevelRedline::crossed(double line, Duration ahead) const { return known_ && expected(ahead) <= line; }

}  // namespace evenkeel::redline
