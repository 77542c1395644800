#include "redline/arrival_reserve.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::redline {

namespace {

/// E[M^j] of M uniform over [a, b].
double moment(double a, double b, int j) {
  if (b - a < 1e-9 * std::max(1.0, b)) return std::pow((a + b) / 2, j);
  return (std::pow(b, j + 1) - std::pow(a, j + 1)) / ((j + 1) * (b - a));
}

}  // namespace

double normal_quantile(double level) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double low = 0.02425;
  const double tail = std::min(level, 1 - level);
  double x = 0;
  if (tail < low) {
    const double q = std::sqrt(-2 * std::log(tail));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (level > 0.5) x = -x;
  } else {
    const double q = level - 0.5;
    const double r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - level;
  const double step = error * std::sqrt(2 * 3.14159265358979323846) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

double arrival_reserve(const WindowDemand& demand, double level) {
  if (demand.arrivals <= 0) return 0;
  const auto raw = [&](int j) { return moment(demand.least, demand.most, j); };
  const double mean = demand.arrivals * raw(1);
  const double sd = std::sqrt(demand.arrivals * raw(2));
  const double skew = raw(3) / (std::sqrt(demand.arrivals) * std::pow(raw(2), 1.5));
  const double excess = raw(4) / (demand.arrivals * raw(2) * raw(2));
  const double z = normal_quantile(level);
  const double shift =
      (z * z - 1) * skew / 6 + (z * z * z - 3 * z) * excess / 24 - (2 * z * z * z - 5 * z) * skew * skew / 36;
  return std::max(0.0, mean + sd * (z + shift));
}

}  // namespace evenkeel::redline
