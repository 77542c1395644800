#pragma once

#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"

namespace evenkeel::planning {

/// One part of a duration law: of Pareto's type, P(S > t) = (minimum / t)^tail_index past the minimum, or exponential.
struct DurationPart {
  enum class Kind { pareto, exponential };
  Kind kind = Kind::pareto;
  double weight = 1;      ///< share of the tasks, relative to the other parts
  double minimum_s = 0;   ///< pareto: no task ends before
  double tail_index = 0;  ///< pareto: alpha
  double mean_s = 0;      ///< exponential
};

struct Resident {
  double age_s = 0;
  double left_s = 0;
};

/// How long a heavy task stays on its worker: a mixture, cut off at `cap_s`, where every task ends that reaches it (an
/// atom at the cap, as a context window makes it).
struct DurationLaw {
  std::vector<DurationPart> parts;
  double cap_s = std::numeric_limits<double>::infinity();

  static DurationLaw pareto(double minimum_s, double tail_index,
                            double cap_s = std::numeric_limits<double>::infinity());

  /// Refuses what is no law: no parts, values not positive and finite, an infinite mean.
  [[nodiscard]] Result<void> check() const;

  /// P(S > t).
  [[nodiscard]] double survival(double t) const;
  /// Integrals of survival(a) and of a * survival(a) over [0, t]; t may be infinite, and the second then, too.
  [[nodiscard]] double survival_integral(double t) const;
  [[nodiscard]] double survival_moment(double t) const;

  /// E[S] and E[S^2] in s and s^2. The second is infinite for a tail index at or under 2 without a cap.
  [[nodiscard]] double mean() const;
  [[nodiscard]] double second_moment() const;
  /// E[S - t | S > t]; 0 where nobody is left.
  [[nodiscard]] double mean_residual(double t) const;

  /// One task's stay in s.
  [[nodiscard]] double draw(Random& random) const;
  /// A task found in service at an instant long after the start: its age and what is left, in s. The age has density
  /// survival / mean, what is left the law of S - age given S > age.
  [[nodiscard]] Resident draw_resident(Random& random) const;
};

}  // namespace evenkeel::planning
