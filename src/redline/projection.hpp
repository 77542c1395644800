#pragma once

#include <array>
#include <cstddef>

namespace evenkeel::redline {

/// How the memory of one worker will go on with nobody new: each resident grows until it ends, then frees all it held.
/// For stretches of time ahead, mean and variance of the sum over residents, which end independently:
///
///   mean(u) = sum_i S_i(u) m_i(u'),  var(u) = sum_i S_i(u) (1 - S_i(u)) m_i(u')^2,  m_i(u) = held_i + rate_i u
///
/// with S_i(u) the probability that i runs for longer than u from now, u the begin of the stretch and u' its end: no
/// moment within it is worse. By the normal approximation the worker stays under max over u of mean + z sd with about
/// the probability of z. (Growth cannot be routed away, and so must be covered where it happens.)
class Projection {
 public:
  static constexpr std::size_t nodes = 56;
  /// Where stretches begin, in units of the grid, and where the last ends: 0, then 1, 1.17, 1.17^2, ... 5,630.
  [[nodiscard]] static const std::array<double, nodes + 1>& instants();

  /// What one resident adds.
  struct Part {
    std::array<double, nodes> mean{};
    std::array<double, nodes> variance{};
    double held = 0;  ///< now
  };
  /// `survival(u)` for u = unit * instant, in whatever unit of time `rate` has. Costs `nodes` questions.
  template <class Survival>
  [[nodiscard]] static Part part_of(double held, double rate, double unit, Survival survival) {
    Part part;
    part.held = held;
    for (std::size_t i = 0; i < nodes; ++i) {
      const double alive = survival(unit * instants()[i]);
      const double memory = held + rate * unit * instants()[i + 1];
      part.mean[i] = alive * memory;
      part.variance[i] = alive * (1 - alive) * memory * memory;
      if (alive <= 0) break;  // and so it stays
    }
    return part;
  }

  void clear() { sum_ = {}; }
  void add(const Part& part);
  /// Largest quantile ahead, z standard deviations over the mean.
  [[nodiscard]] double peak(double z) const;
  /// The same with one resident more.
  [[nodiscard]] double peak_with(const Part& part, double z) const;
  /// By how much headroom may fall until residents have ended: the growth floor. Never negative.
  [[nodiscard]] double drawdown(double z) const;

 private:
  Part sum_;
};

/// The bound that asks for no law: `rate` times residents times the time until relief.
[[nodiscard]] constexpr double growth_bound(double rate_per_s, double residents, double relief_s) {
  return rate_per_s * residents * relief_s;
}

}  // namespace evenkeel::redline
