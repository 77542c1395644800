#include "report/scale.hpp"

#include <algorithm>
#include <cmath>

#include "report/chart.hpp"

namespace evenkeel::report {

std::vector<double> nice_ticks(double low, double high, int wanted) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  const double rough = (high - low) / std::max(1, wanted);
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / decade;
  const double step = (part <= 1.5 ? 1 : part <= 3 ? 2 : part <= 7 ? 5 : 10) * decade;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

namespace {

/// Powers of ten that cover [low, high]; every n-th if there are many.
std::vector<double> decade_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (last == first) ++last;
  const int step = 1 + (last - first) / 8;
  std::vector<double> ticks;
  for (int i = first; i < last + step; i += step) ticks.push_back(std::pow(10, i));
  return ticks;
}

}  // namespace

Scale::Scale(double low, double high, bool log, double from_px, double to_px)
    : log_(log), from_px_(from_px), to_px_(to_px) {
  if (!log && high <= low) {
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    low -= low == 0 ? 0 : room;
    high += room;
  }
  ticks_ = log ? decade_ticks(low, high) : nice_ticks(low, high, 6);
  low_ = log ? std::log10(ticks_.front()) : ticks_.front();
  high_ = log ? std::log10(ticks_.back()) : ticks_.back();
}

double Scale::px(double value) const {
  const double at = log_ ? std::log10(value) : value;
  return from_px_ + (at - low_) / (high_ - low_) * (to_px_ - from_px_);
}

bool Extent::shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }

void Extent::add(double value) {
  if (!shows(value)) return;
  high_ = low_ ? std::max(high_, value) : value;
  low_ = low_ ? std::min(*low_, value) : value;
}

}  // namespace evenkeel::report
