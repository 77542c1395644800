#include "maths/scalability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "maths/quantiles.hpp"

namespace evenkeel::maths {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Least squares of y = a + b x with the covariance of a and b.
struct Line {
  double a = 0;
  double b = 0;
  double var_a = 0;
  double var_b = 0;
  double cov = 0;
};

Line fit_line(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  Line line;
  line.b = xy / xx;
  line.a = mean_y - line.b * mean_x;
  double residual = 0;
  for (std::size_t i = 0; i < x.size(); ++i) residual += std::pow(y[i] - line.a - line.b * x[i], 2);
  const double variance = residual / (n - 2);
  line.var_b = variance / xx;
  line.var_a = variance * (1 / n + mean_x * mean_x / xx);
  line.cov = -variance * mean_x / xx;
  return line;
}

/// The s = N*^2 with (1 - a - b s)^2 <= t^2 Var(a + b s): between the roots of A s^2 - 2 B s + C, or beyond them where
/// b is not told from 0.
Interval peak_interval(const Line& line, double t) {
  const double squared = t * t;
  const double above = 1 - line.a;
  const double A = line.b * line.b - squared * line.var_b;
  const double B = above * line.b + squared * line.cov;
  const double C = above * above - squared * line.var_a;
  const double inside = B * B - A * C;
  const auto n_of = [](double s) { return s > 0 ? std::sqrt(s) : 0; };
  if (inside < 0) return {0, infinite};  // nothing is told at all
  const double root = std::sqrt(inside);
  if (A > 0) {
    if (line.b < 0) return {infinite, infinite};  // surely no peak
    return {n_of((B - root) / A), n_of((B + root) / A)};
  }
  // Of the two rays the one that a positive b makes: from the larger root on. A is 0 only by accident.
  const double larger = A < 0 ? (B - root) / A : C / (2 * B);
  return {n_of(larger), infinite};
}

Result<void> check_points(std::span<const ScalePoint> points) {
  for (const auto& [n, throughput] : points) {
    if (!std::isfinite(n) || n < 1) return failure(fmt::format("N is {}; allowed: finite numbers from 1", n));
    if (!std::isfinite(throughput) || throughput <= 0) {
      return failure(fmt::format("a throughput is {}; allowed: finite numbers over 0", throughput));
    }
  }
  return {};
}

}  // namespace

double Scalability::capacity(double n) const { return n / (1 + contention * (n - 1) + coherency * n * (n - 1)); }

Result<Scalability> fit_scalability(std::span<const ScalePoint> points) {
  if (auto sound = check_points(points); !sound) return tl::unexpected(sound.error());
  Scalability fit;
  double singles = 0;
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [n, throughput] : points) {
    if (n != 1) continue;
    fit.single += throughput;
    ++singles;
  }
  if (singles == 0) return failure("no point at N = 1, which the others are compared with");
  fit.single /= singles;
  for (const auto& [n, throughput] : points) {
    if (n == 1) continue;
    x.push_back(n);
    y.push_back((n / (throughput / fit.single) - 1) / (n - 1));
  }
  constexpr std::size_t least_points = 4;
  constexpr std::size_t least_places = 3;
  const std::size_t different = std::set<double>(x.begin(), x.end()).size();
  if (x.size() < least_points || different < least_places) {
    return failure(fmt::format("{} points at {} different N over 1; allowed: at least {} at {}", x.size(), different,
                               least_points, least_places));
  }
  const Line line = fit_line(x, y);
  const double t = student_quantile(1 - (1 - usual_confidence) / 2, static_cast<double>(x.size() - 2));
  fit.points = x.size();
  fit.contention = line.a;
  fit.coherency = line.b;
  fit.contention_interval = {line.a - t * std::sqrt(line.var_a), line.a + t * std::sqrt(line.var_a)};
  fit.coherency_interval = {line.b - t * std::sqrt(line.var_b), line.b + t * std::sqrt(line.var_b)};
  fit.peak = line.b > 0 && line.a < 1 ? std::sqrt((1 - line.a) / line.b) : (line.b > 0 ? 1 : infinite);
  fit.peak_interval = peak_interval(line, t);
  for (const auto& [n, throughput] : points) {
    fit.worst_misfit = std::max(fit.worst_misfit, std::abs(throughput / fit.single / fit.capacity(n) - 1));
  }
  return fit;
}

}  // namespace evenkeel::maths
