#include "redline/projection.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::redline {

const std::array<double, Projection::nodes + 1>& Projection::instants() {
  static const auto all = [] {
    std::array<double, nodes + 1> at{};
    double next = 1;
    for (std::size_t i = 1; i <= nodes; ++i, next *= 1.17) at[i] = next;
    return at;
  }();
  return all;
}

void Projection::add(const Part& part) {
  sum_.held += part.held;
  for (std::size_t i = 0; i < nodes; ++i) {
    sum_.mean[i] += part.mean[i];
    sum_.variance[i] += part.variance[i];
  }
}

double Projection::peak(double z) const {
  double most = 0;
  for (std::size_t i = 0; i < nodes; ++i) most = std::max(most, sum_.mean[i] + z * std::sqrt(sum_.variance[i]));
  return most;
}

double Projection::peak_with(const Part& part, double z) const {
  double most = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    most = std::max(most, sum_.mean[i] + part.mean[i] + z * std::sqrt(sum_.variance[i] + part.variance[i]));
  }
  return most;
}

double Projection::drawdown(double z) const { return std::max(0.0, peak(z) - sum_.held); }

}  // namespace evenkeel::redline
