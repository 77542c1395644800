#pragma once

#include "base/random.hpp"
#include "planning/duration_law.hpp"

namespace evenkeel::simulation {

/// Draws of a law of durations, by inversion. The law is one that check() accepts.

/// How long a task stays that comes now, in s.
[[nodiscard]] double draw_duration(const planning::DurationLaw& law, Random& random);

/// A task that is there at a random instant: how old it is and how long it stays in all. Its length is size-biased and
/// its age uniform over it, so that a fleet can start in its steady state: with a tail index near 2 a warm-up would
/// take for ever.
struct ResidentDraw {
  double age_s = 0;
  double length_s = 0;
};
[[nodiscard]] ResidentDraw draw_resident(const planning::DurationLaw& law, Random& random);

/// How many of a Poisson law of that mean (0 to 1e6): by its gaps for small means, in halves for large ones.
[[nodiscard]] int draw_poisson(double mean, Random& random);

}  // namespace evenkeel::simulation
