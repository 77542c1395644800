#pragma once

namespace evenkeel::maths {

/// A confidence interval, ends included; an end may be infinite.
struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

/// How sure the intervals of this room are unless a function says otherwise, both sides together.
inline constexpr double usual_confidence = 0.95;

}  // namespace evenkeel::maths
