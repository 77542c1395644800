#include "simulation/duration_draws.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::simulation {

namespace {

using planning::DurationLaw;
using planning::DurationPart;

/// The length of a task of that part that has reached `age`, without the cap.
double length_beyond(const DurationPart& part, double age, Random& random) {
  if (part.kind == DurationPart::Kind::exponential) return age + random.exponential(part.mean_s);
  return std::max(part.minimum_s, age) * std::pow(1 - random.unit(), -1 / part.tail_index);
}

/// Integral of the part's survival over [0, t].
double integral(const DurationPart& part, double t) {
  if (part.kind == DurationPart::Kind::exponential) return part.mean_s * -std::expm1(-t / part.mean_s);
  const double x = part.minimum_s;
  if (t <= x) return t;
  return x + x / (part.tail_index - 1) * (1 - std::pow(x / t, part.tail_index - 1));
}

/// Its inverse: the t at which it is `mass`.
double age_at(const DurationPart& part, double mass) {
  if (part.kind == DurationPart::Kind::exponential) return -part.mean_s * std::log1p(-mass / part.mean_s);
  const double x = part.minimum_s;
  if (mass <= x) return mass;
  return x * std::pow(1 - (mass - x) * (part.tail_index - 1) / x, -1 / (part.tail_index - 1));
}

template <class Weight>
const DurationPart& draw_part(const DurationLaw& law, Random& random, Weight weight) {
  double total = 0;
  for (const DurationPart& part : law.parts) total += weight(part);
  double left = random.unit() * total;
  for (const DurationPart& part : law.parts) {
    left -= weight(part);
    if (left < 0) return part;
  }
  return law.parts.back();
}

}  // namespace

double draw_duration(const DurationLaw& law, Random& random) {
  const DurationPart& part = draw_part(law, random, [](const DurationPart& each) { return each.weight; });
  return std::min(law.cap_s, length_beyond(part, 0, random));
}

ResidentDraw draw_resident(const DurationLaw& law, Random& random) {
  const auto mean = [&](const DurationPart& each) { return integral(each, law.cap_s); };
  const DurationPart& part = draw_part(law, random, [&](const DurationPart& each) { return each.weight * mean(each); });
  const double age = std::min(law.cap_s, age_at(part, random.unit() * mean(part)));
  return {age, std::min(law.cap_s, length_beyond(part, age, random))};
}

int draw_poisson(double mean, Random& random) {
  if (mean > 32) return draw_poisson(mean / 2, random) + draw_poisson(mean / 2, random);
  int count = 0;
  for (double left = mean - random.exponential(1); left > 0; left -= random.exponential(1)) ++count;
  return count;
}

}  // namespace evenkeel::simulation
