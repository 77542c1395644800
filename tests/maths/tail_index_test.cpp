#include "maths/tail_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::maths {
namespace {

double pareto(double minimum, double index, Random& random) {
  return minimum * std::pow(1 - random.unit(), -1 / index);
}

std::vector<Lifetime> paretos(std::size_t n, double minimum, double index, std::uint64_t seed) {
  Random random(seed);
  std::vector<Lifetime> values(n);
  for (auto& lifetime : values) lifetime.value = pareto(minimum, index, random);
  return values;
}

/// Everything over `cap` is cut off there; besides, each is cut off at an exponential time of its own.
std::vector<Lifetime> cut_off(std::vector<Lifetime> values, double cap, double mean_patience, std::uint64_t seed) {
  Random random(seed);
  for (auto& lifetime : values) {
    const double end = std::min(cap, random.exponential(mean_patience));
    if (lifetime.value > end) lifetime = {end, false};
  }
  return values;
}

TEST(TailIndex, IsHillsEstimatorOnASampleDoneByHand) {
  // 25 values of 2e and 25 of 2 over a threshold of 1: log-excesses ln 2 + 1 and ln 2, their mean ln 2 + 0.5.
  std::vector<Lifetime> values(25, {2 * std::exp(1.0)});
  values.insert(values.end(), 25, {2.0});
  values.push_back({1.0});
  const auto fit = TailSample::of(values).value().fit(50);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->index, 1 / (std::log(2.0) + 0.5), 1e-12);
  EXPECT_NEAR(fit->standard_error, fit->index / std::sqrt(50.0), 1e-12);
  EXPECT_EQ(fit->threshold, 1.0);
}

TEST(TailIndex, ErrorAtTwentyFiveValuesIsThePublishedOne) {
  // alpha / sqrt(k) with alpha = 2.2, k = 25 is 0.44: 2.2 is not told from 2.
  const auto fit = TailSample::of(paretos(26, 163.6, 2.2, 3)).value().fit(25);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->standard_error / fit->index * 2.2, 0.44, 1e-9);
  EXPECT_LT(fit->interval.low / fit->index * 2.2, 2);
}

TEST(TailIndex, IntervalCoversTheTrueIndexAsOftenAsItSays) {
  for (const std::size_t k : {25U, 100U, 400U}) {
    int covered = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const auto fit = TailSample::of(paretos(2 * k + 1, 163.6, 2.2, seed)).value().fit(k);
      covered += fit->interval.contains(2.2) ? 1 : 0;
    }
    EXPECT_NEAR(covered, 950, 21) << k;  // 3 standard deviations of a binomial count
  }
}

TEST(TailIndex, IntervalCoversTheTrueIndexOfValuesThatWereCutOff) {
  int covered = 0;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto values = cut_off(paretos(1500, 1, 1.7, seed), 6, 20, seed + 7000);
    const auto fit = TailSample::of(values).value().fit(400);
    ASSERT_LT(fit->ended, fit->k);
    covered += fit->interval.contains(1.7) ? 1 : 0;
    sum += fit->index;
  }
  EXPECT_NEAR(covered, 950, 25);
  EXPECT_NEAR(sum / 1000, 1.7, 0.02);
}

TEST(TailIndex, ValuesThatWereCutOffTakenForEndedWouldMislead) {
  auto values = cut_off(paretos(3000, 1, 1.7, 5), 6, 20, 6);
  const double right = TailSample::of(values).value().fit(1000)->index;
  for (auto& lifetime : values) lifetime.ended = true;
  const double wrong = TailSample::of(values).value().fit(1000)->index;
  EXPECT_NEAR(right, 1.7, 0.17);
  EXPECT_GT(wrong, 1.9);
}

TEST(TailIndex, ChosenKFindsWhereThePowerLawBegins) {
  // Under 100 uniform, over it Pareto, half of the values each: k over a half takes in what is no power law.
  int covered = 0;
  double share = 0;
  constexpr int runs = 300;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Random random(seed);
    std::vector<Lifetime> values(2000);
    for (auto& lifetime : values) {
      lifetime.value = random.unit() < 0.5 ? 1 + 99 * random.unit() : pareto(100, 2.2, random);
    }
    const auto fit = TailSample::of(values).value().fit();
    covered += fit->interval.contains(2.2) ? 1 : 0;
    share += static_cast<double>(fit->k) / 2000 / runs;
  }
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.52);
  EXPECT_GT(covered, 0.8 * runs);  // choosing costs cover
}

TEST(TailIndex, AnExponentialIsToldFromAPowerLaw) {
  Random random(9);
  std::vector<Lifetime> light(4000);
  for (auto& lifetime : light) lifetime.value = random.exponential(100);
  EXPECT_LT(TailSample::of(light).value().fit(3000)->against_exponential, -2);
  EXPECT_GT(TailSample::of(paretos(4000, 100, 2.2, 10)).value().fit(3000)->against_exponential, 2);
}

TEST(TailIndex, SurvivalOfValuesCutOffIsKaplanAndMeiers) {
  // Kaplan and Meier 1958, section 1: deaths at 0.8, 3.1, 5.4, 9.2, losses at 1.0, 2.7, 7.0, 12.1. Repeated, since a
  // tail wants more values; the estimate of a sample repeated is the same.
  std::vector<Lifetime> values;
  for (int i = 0; i < 7; ++i) {
    for (const double death : {0.8, 3.1, 5.4, 9.2}) values.push_back({death, true});
    for (const double loss : {1.0, 2.7, 7.0, 12.1}) values.push_back({loss, false});
  }
  const auto sample = TailSample::of(values).value();
  const auto survival_at = [&](double value) {
    for (std::size_t i = 0; i < sample.values().size(); ++i) {
      if (sample.values()[i].value == value) return sample.survival(i);
    }
    return -1.0;
  };
  EXPECT_NEAR(survival_at(0.8), 7.0 / 8, 1e-9);
  EXPECT_NEAR(survival_at(3.1), 7.0 / 8 * 4 / 5, 1e-9);
  EXPECT_NEAR(survival_at(5.4), 7.0 / 8 * 4 / 5 * 3 / 4, 1e-9);
  EXPECT_NEAR(survival_at(9.2), 7.0 / 8 * 4 / 5 * 3 / 4 * 1 / 2, 1e-9);
}

TEST(TailIndex, WhatCannotCarryAnIndexIsRefusedWithTheReason) {
  const auto refused = [](std::vector<Lifetime> values) {
    const auto sample = TailSample::of(std::move(values));
    return sample ? std::string() : sample.error().message;
  };
  EXPECT_EQ(refused(paretos(25, 1, 2, 1)), "25 values; a tail wants at least 26");
  EXPECT_EQ(refused(std::vector<Lifetime>(40, {3.5})), "all 40 values are 3.5; a tail wants different ones");
  auto values = paretos(30, 1, 2, 1);
  values[3].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused(values), "a value is nan; allowed: finite numbers over 0");
  values[3].value = 0;
  EXPECT_EQ(refused(values), "a value is 0; allowed: finite numbers over 0");

  std::vector<Lifetime> two(30, {5.0});
  two.insert(two.end(), 30, {4.0});
  EXPECT_EQ(TailSample::of(two).value().fit(59)->k, 30U);
  EXPECT_EQ(TailSample::of(two).value().fit(28).error().message, "the 25th to the 29th largest value are equal");
  EXPECT_EQ(TailSample::of(two).value().fit(60).error().message, "k is 60; allowed: 25 to 59");
  for (auto& lifetime : two) lifetime.ended = lifetime.value == 4;
  EXPECT_EQ(TailSample::of(two).value().fit().error().message,
            "of the 30 largest values 0 were not cut off; a tail wants at least 25");
}

}  // namespace
}  // namespace evenkeel::maths
