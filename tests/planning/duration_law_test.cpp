#include "planning/duration_law.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace evenkeel::planning {
namespace {

/// Simpson's rule: knows nothing of the closed forms.
template <class F>
double integral(F f, double from, double to, int cells = 20'000) {
  const double h = (to - from) / cells;
  double sum = f(from) + f(to);
  for (int i = 1; i < cells; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(from + h * i);
  return sum * h / 3;
}

TEST(DurationLaw, ParetoHasThePublishedMomentsAndResidualLife) {
  const auto law = DurationLaw::pareto(300 * 1.2 / 2.2, 2.2);
  EXPECT_NEAR(law.mean(), 300, 1e-9);
  EXPECT_NEAR(law.second_moment(), 2.2 * 163.6363636 * 163.6363636 / 0.2, 1e-1);
  EXPECT_NEAR(law.mean_residual(0), 300, 1e-9);
  EXPECT_NEAR(law.mean_residual(163.636363636), 136.3636, 1e-3);
  EXPECT_NEAR(law.mean_residual(600), 500, 1e-6);  // t / (alpha - 1)
  EXPECT_NEAR(law.survival(864.2), 0.026, 3e-4);
}

TEST(DurationLaw, CappedLawIsTheIntegralOfItsSurvival) {
  for (const double alpha : {0.8, 1.0, 1.5, 2.0, 2.2}) {
    const auto law = DurationLaw::pareto(60, alpha, 200);
    ASSERT_TRUE(law.check());
    const auto s = [&](double a) { return a < 60 ? 1.0 : std::pow(60 / a, alpha); };
    EXPECT_NEAR(law.mean(), 60 + integral(s, 60, 200), 1e-8) << alpha;
    EXPECT_NEAR(law.second_moment(), 3600 + 2 * integral([&](double a) { return a * s(a); }, 60, 200), 1e-6) << alpha;
    EXPECT_NEAR(law.survival_integral(100), 60 + integral(s, 60, 100), 1e-8) << alpha;
    EXPECT_EQ(law.survival(200), 0);
    EXPECT_GT(law.survival(199.9), 0.05);  // the atom: what reaches the cap ends there
  }
}

TEST(DurationLaw, MixtureWeighsItsParts) {
  DurationLaw law{{{.weight = 3, .minimum_s = 100, .tail_index = 3},
                   {.kind = DurationPart::Kind::exponential, .weight = 1, .mean_s = 40}}};
  ASSERT_TRUE(law.check());
  EXPECT_NEAR(law.mean(), 0.75 * 150 + 0.25 * 40, 1e-9);
  EXPECT_NEAR(law.survival(120), 0.75 * std::pow(100.0 / 120, 3) + 0.25 * std::exp(-3.0), 1e-12);
  EXPECT_NEAR(law.survival_moment(80), integral([](double a) { return a * (0.75 + 0.25 * std::exp(-a / 40)); }, 0, 80),
              1e-8);
}

TEST(DurationLaw, DrawsFollowTheLaw) {
  const DurationLaw law{{{.weight = 1, .minimum_s = 60, .tail_index = 2.5},
                         {.kind = DurationPart::Kind::exponential, .weight = 2, .mean_s = 90}},
                        400};
  Random random(11);
  constexpr int draws = 200'000;
  double longer = 0;
  double capped = 0;
  double old = 0;
  double mean_left = 0;
  for (int i = 0; i < draws; ++i) {
    const double stay = law.draw(random);
    longer += stay > 120;
    capped += stay == 400;
    const Resident resident = law.draw_resident(random);
    old += resident.age_s > 150;
    mean_left += resident.left_s / draws;
    ASSERT_GE(resident.left_s, -1e-9);
    ASSERT_LE(resident.age_s + resident.left_s, 400 + 1e-9);
  }
  EXPECT_NEAR(longer / draws, law.survival(120), 4e-3);
  EXPECT_NEAR(capped / draws, law.survival(399.999999), 1.5e-3);
  EXPECT_NEAR(old / draws, 1 - law.survival_integral(150) / law.mean(), 4e-3);
  EXPECT_NEAR(mean_left, law.second_moment() / (2 * law.mean()), 1);  // of a stationary renewal process
}

TEST(DurationLaw, RefusesWhatIsNoLaw) {
  EXPECT_FALSE(DurationLaw{}.check());
  EXPECT_FALSE(DurationLaw::pareto(100, 1).check());
  EXPECT_FALSE(DurationLaw::pareto(100, std::nan("")).check());
  EXPECT_FALSE(DurationLaw::pareto(-1, 2.2).check());
  EXPECT_FALSE(DurationLaw::pareto(100, 2.2, 0).check());
  EXPECT_TRUE(DurationLaw::pareto(100, 1, 1000).check());
  EXPECT_NE(DurationLaw::pareto(100, 0.9).check().error().message.find("cap is needed"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::planning
