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

/// The t with survival(part, t) = u, 0 < u <= 1.
double survival_inverse(const DurationPart& part, double u) {
  if (part.kind == DurationPart::Kind::exponential) return -part.mean_s * std::log(u);
  return part.minimum_s * std::pow(u, -1 / part.tail_index);
}

/// The t with survival_integral(part, 0, t) = y.
double integral_inverse(const DurationPart& part, double y) {
  if (part.kind == DurationPart::Kind::exponential) return -part.mean_s * std::log1p(-y / part.mean_s);
  if (y <= part.minimum_s) return y;
  const double p = part.tail_index - 1;
  const double over = y / part.minimum_s - 1;
  if (std::abs(p) < 1e-12) return part.minimum_s * std::exp(over);
  return part.minimum_s * std::pow(std::max(1 - p * over, 1e-300), -1 / p);
}

/// A part, drawn by the sizes that `of` gives them.
template <class Of>
const DurationPart& draw_part(const DurationLaw& law, Random& random, Of of) {
  double total = 0;
  for (const auto& part : law.parts) total += of(part);
  double rest = random.unit() * total;
  for (const auto& part : law.parts) {
    rest -= of(part);
    if (rest < 0) return part;
  }
  return law.parts.back();
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

double DurationLaw::draw(Random& random) const {
  const auto& part = draw_part(*this, random, [](const DurationPart& of) { return of.weight; });
  return std::min(cap_s, survival_inverse(part, 1 - random.unit()));
}

Resident DurationLaw::draw_resident(Random& random) const {
  const auto time_of = [this](const DurationPart& of) { return planning::survival_integral(of, 0, cap_s); };
  const auto& part = draw_part(*this, random, [&](const DurationPart& of) { return of.weight * time_of(of); });
  const double age = integral_inverse(part, random.unit() * time_of(part));
  const double end = survival_inverse(part, (1 - random.unit()) * planning::survival(part, age));
  return {age, std::min(cap_s, end) - age};
}

double DurationLaw::mean_residual(double t) const {
  const double left = survival(t);
  return left > 0 ? (mean() - survival_integral(t)) / left : 0;
}

}  // namespace evenkeel::planning
