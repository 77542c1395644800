#pragma once

#include <optional>
#include <vector>

namespace evenkeel::report {

/// Maps values of one axis to pixels.
class Scale {
 public:
  /// `from_px` is where the lowest tick lies. Grows [low, high] to round ticks; equal ends get some room.
  Scale(double low, double high, bool log, double from_px, double to_px);
  [[nodiscard]] double px(double value) const;
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }

 private:
  bool log_;
  double from_px_;
  double to_px_;
  double low_;
  double high_;
  std::vector<double> ticks_;
};

/// Lowest and highest of the values that an axis can show.
class Extent {
 public:
  explicit Extent(bool log) : log_(log) {}
  [[nodiscard]] bool shows(double value) const;
  void add(double value);
  [[nodiscard]] bool empty() const { return !low_; }
  [[nodiscard]] double low() const { return low_.value_or(0); }
  [[nodiscard]] double high() const { return high_; }

 private:
  bool log_;
  std::optional<double> low_;
  double high_ = 0;
};

}  // namespace evenkeel::report
