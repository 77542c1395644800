#include "planning/duration_law.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace evenkeel::planning {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The integral of u^power over [from, to].
double power_integral(double power, double from, double to) {
  const double p = power + 1;
  if (std::abs(p) < 1e-12) return std::log(to / from);
  if (std::isinf(to)) return p < 0 ? -std::pow(from, p) / p : infinity;
  return (std::pow(to, p) - std::pow(from, p)) / p;
}

double survival(const DurationPart& part, double t) {
  if (part.kind == DurationPart::Kind::exponential) return std::exp(-t / part.mean_s);
  return t < part.minimum_s ? 1 : std::pow(part.minimum_s / t, part.tail_index);
}

/// The integral of a^moment * survival(a) over [0, t], for moments 0 and 1.
double survival_integral(const DurationPart& part, int moment, double t) {
  if (part.kind == DurationPart::Kind::exponential) {
    const double x = t / part.mean_s;
    if (std::isinf(x)) return moment == 0 ? part.mean_s : part.mean_s * part.mean_s;
    if (moment == 0) return -part.mean_s * std::expm1(-x);
    return part.mean_s * part.mean_s * (-std::expm1(-x) - x * std::exp(-x));
  }
  const double flat = std::min(t, part.minimum_s);
  const double below = moment == 0 ? flat : flat * flat / 2;
  if (t <= part.minimum_s) return below;
  return below +
         std::pow(part.minimum_s, part.tail_index) * power_integral(moment - part.tail_index, part.minimum_s, t);
}

bool is_positive(double value) { return value > 0 && std::isfinite(value); }

template <class Of>
double weighted(const DurationLaw& law, Of of) {
  double sum = 0;
  double weights = 0;
  for (const auto& part : law.parts) {
    sum += part.weight * of(part);
    weights += part.weight;
  }
  return sum / weights;
}

Result<void> check_positive(std::string_view field, double value) {
  if (is_positive(value)) return {};
  return failure(fmt::format("{} is {}: allowed are numbers over 0", field, value));
}

}  // namespace

DurationLaw DurationLaw::pareto(double minimum_s, double tail_index, double cap_s) {
  return {{{.minimum_s = minimum_s, .tail_index = tail_index}}, cap_s};
}

Result<void> DurationLaw::check() const {
  if (parts.empty()) return failure("the duration has no part: at least one is needed");
  if (!(cap_s > 0)) return failure(fmt::format("the duration's cap is {} s: allowed are numbers over 0", cap_s));
  for (const auto& part : parts) {
    if (auto ok = check_positive("the duration's weight", part.weight); !ok) return ok;
    if (part.kind == DurationPart::Kind::exponential) {
      if (auto ok = check_positive("the duration's mean in s", part.mean_s); !ok) return ok;
      continue;
    }
    if (auto ok = check_positive("the duration's minimum in s", part.minimum_s); !ok) return ok;
    if (auto ok = check_positive("the duration's tail index", part.tail_index); !ok) return ok;
    if (part.tail_index <= 1 && std::isinf(cap_s)) {
      return failure(fmt::format(
          "the duration's tail index is {}: at or under 1 the mean duration is infinite, so a cap is needed",
          part.tail_index));
    }
  }
  return {};
}

double DurationLaw::survival(double t) const {
  if (t < 0) return 1;
  if (t >= cap_s) return 0;
  return weighted(*this, [t](const DurationPart& part) { return planning::survival(part, t); });
}

double DurationLaw::survival_integral(double t) const {
  const double to = std::clamp(t, 0.0, cap_s);
  return weighted(*this, [to](const DurationPart& part) { return planning::survival_integral(part, 0, to); });
}

double DurationLaw::survival_moment(double t) const {
  const double to = std::clamp(t, 0.0, cap_s);
  return weighted(*this, [to](const DurationPart& part) { return planning::survival_integral(part, 1, to); });
}

double DurationLaw::mean() const { return survival_integral(infinity); }

double DurationLaw::second_moment() const { return 2 * survival_moment(infinity); }

double DurationLaw::mean_residual(double t) const {
  const double left = survival(t);
  return left > 0 ? (mean() - survival_integral(t)) / left : 0;
}

}  // namespace evenkeel::planning
