#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "maths/compound_moments.hpp"
#include "maths/panjer.hpp"
#include "maths/spectrum.hpp"

namespace evenkeel::maths {
namespace {

constexpr double level = 32.0 / 33;
constexpr double prompt = 0.334;
constexpr double growth = 327'680.0 * 500 / 33 * 90 / 1e9;  // over a window of 90 s
constexpr double per_node = 2.22;

/// P(U_1 + ... + U_n <= z) of uniforms on (0, 1): Irwin 1927 and Hall 1927. The alternating sum loses about n bits, so
/// it is taken in 113 bits or more and from the shorter side.
double irwin_hall(int n, double z) {
  if (z <= 0) return 0;
  if (z >= n) return 1;
  if (z > n / 2.0) return 1 - irwin_hall(n, n - z);
  __float128 sum = 0;
  __float128 choose = 1;
  for (int k = 0; k <= static_cast<int>(z); ++k) {
    __float128 power = 1;
    for (int i = 1; i <= n; ++i) power *= (static_cast<__float128>(z) - k) / i;
    sum += (k % 2 == 0 ? 1 : -1) * choose * power;
    choose = choose * (n - k) / (k + 1);
  }
  return static_cast<double>(sum);
}

/// Knows no lattice: a mixture over the count, inverted by bisection.
double quantile_by_mixture(const CountLaw& count, double from, double width, double wanted) {
  const auto cdf = [&](double x) {
    double sum = count.pmf(0);
    for (int n = 1; n <= 60; ++n) sum += count.pmf(n) * irwin_hall(n, (x - n * from) / width);
    return sum;
  };
  double low = 0;
  double high = 40;
  while (high - low > 1e-9) ((cdf((low + high) / 2) >= wanted) ? high : low) = (low + high) / 2;
  return high;
}

Lattice footprint(double step, double fixed = prompt) {
  Lattice severity(step);
  severity.add_uniform(fixed, fixed + growth, 1);
  return severity;
}

double by_recursion(const CountLaw& count, const Lattice& severity, double wanted = level) {
  return *quantile_by_recursion(count, severity, wanted);
}

Lattice transformed(const CountLaw& count, const Lattice& severity) {
  const double mean = count.mean() * severity.moment(1);
  const double sd = std::sqrt(count.variance()) * severity.moment(1) * 1.2;
  return compound_by_transform(count, severity, 0, mean + 20 * sd + 5);
}

TEST(Compound, RecursionIsRightToTenKilobytesForFewTasks) {
  for (const double mean : {0.5, 2.22, 6.0, 8.88}) {
    const auto count = CountLaw::poisson(mean);
    const double truth = quantile_by_mixture(count, prompt, growth, level);
    EXPECT_NEAR(by_recursion(count, footprint(0.001)), truth, 1e-5) << mean;
    EXPECT_NEAR(transformed(count, footprint(0.001)).quantile(level), truth, 1e-5) << mean;
  }
}

TEST(Compound, OverdispersedRecursionIsRightForFewTasks) {
  for (const double ratio : {1.3, 2.0, 5.0}) {
    const auto count = CountLaw::negative_binomial(4, 4 * ratio);
    const double truth = quantile_by_mixture(count, prompt, growth, level);
    EXPECT_NEAR(by_recursion(count, footprint(0.001)), truth, 2e-5) << ratio;
    EXPECT_NEAR(transformed(count, footprint(0.001)).quantile(level), truth, 2e-5) << ratio;
  }
}

TEST(Compound, ReservesAreThePublishedOnes) {
  struct Row {
    int nodes;
    double exact_rounded;
    double exact;
  };
  for (const Row& row :
       {Row{1, 3.0735, 3.0747}, Row{4, 8.3943, 8.3978}, Row{8, 14.6727, 14.6788}, Row{16, 26.4490, 26.4600},
        Row{32, 48.9007, 48.9209}, Row{128, 176.7485, 176.8221}, Row{200, 270.3709, 270.4837}}) {
    const auto count = CountLaw::poisson(per_node * row.nodes);
    EXPECT_NEAR(by_recursion(count, footprint(0.001)), row.exact_rounded, 5e-4) << row.nodes;
    EXPECT_NEAR(by_recursion(count, footprint(0.001, 1020 * 327'680e-9)), row.exact, 5e-4) << row.nodes;
  }
}

TEST(Compound, DoubledVarianceIsThePublishedOne) {
  const auto count = CountLaw::negative_binomial(per_node * 32, per_node * 64);
  EXPECT_NEAR(by_recursion(count, footprint(0.001)), 52.931, 5e-4);
}

TEST(Compound, RecursionAndTransformAgree) {
  for (const double mean : {1.0, 71.04, 666.0, 1500.0}) {
    for (const double ratio : {1.0, 1.5, 33.0}) {
      const auto count = CountLaw::negative_binomial(mean, mean * ratio);
      const Lattice whole = transformed(count, footprint(0.002));
      for (const double wanted : {0.5, level, 0.9999}) {
        EXPECT_NEAR(by_recursion(count, footprint(0.002), wanted), whole.quantile(wanted), 1e-5)
            << mean << " " << ratio << " " << wanted;
      }
    }
  }
}

TEST(Compound, RecursionPassesTheMeanWhereItsStartUnderflows) {
  // exp(-4000) is 0 in doubles. The mean is known, and at this size the expansion is good to a fraction of a step.
  const auto count = CountLaw::poisson(4000);
  const double expected = compound_shape(count, uniform_moments(prompt, prompt + growth)).cornish_fisher(level);
  EXPECT_NEAR(by_recursion(count, footprint(0.004)), expected, 2e-3);
}

TEST(Compound, AnySeverityMayBeUnevenOrHoldMassAtZero) {
  // K geometric and M in {0, 1, 3}: the law by convolving it with itself as often as K says.
  const auto count = CountLaw::negative_binomial(2, 6);
  Lattice severity(1);
  severity.mass = {0.25, 0.5, 0, 0.25};
  std::vector<double> expected(40, 0.0);
  std::vector<double> sum{1};
  for (int k = 0; k < 400; ++k) {
    for (std::size_t i = 0; i < std::min(sum.size(), expected.size()); ++i) expected[i] += count.pmf(k) * sum[i];
    std::vector<double> next(std::min<std::size_t>(sum.size() + 3, 40), 0.0);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      for (std::size_t j = 0; j < 4 && i + j < next.size(); ++j) next[i + j] += sum[i] * severity.mass[j];
    }
    sum = next;
  }
  CompoundRecursion recursion(count, severity);
  const Lattice transform = compound_by_transform(count, severity, 0, 400);
  for (std::size_t i = 0; i < 25; ++i) {
    EXPECT_NEAR(recursion.next(), expected[i], 1e-13) << i;
    EXPECT_NEAR(transform.mass[i], expected[i], 1e-12) << i;
  }
}

TEST(Compound, TransformAddsSignedLaws) {
  Lattice up(0.5);
  up.add_atom(1, 1);
  Lattice down(0.5);
  down.add_atom(-1, 1);
  const Grid grid = Grid::covering(0.5, -40, 40);
  Spectrum sum(grid, up);
  sum.compound(CountLaw::poisson(3));
  Spectrum other(grid, down);
  sum *= other.compound(CountLaw::poisson(2));
  const Lattice law = sum.law();
  // Skellam: the difference of two Poisson counts, by its definition.
  for (int d = -6; d <= 6; ++d) {
    double expected = 0;
    for (int k = 0; k < 60; ++k) expected += CountLaw::poisson(2).pmf(k) * CountLaw::poisson(3).pmf(k + d);
    EXPECT_NEAR(law.mass[static_cast<std::size_t>(2 * d - law.first)], expected, 1e-12) << d;
  }
}

TEST(Compound, ShapeIsThatOfManyDraws) {
  Random random(7);
  const auto count = CountLaw::negative_binomial(5, 12);
  const Shape shape = compound_shape(count, uniform_moments(1, 2));
  constexpr int draws = 400'000;
  std::vector<double> values;
  for (int i = 0; i < draws; ++i) {
    const double rate = random.gamma(count.shape(), 5 / count.shape());
    double sum = 0;
    for (double t = random.exponential(1); t < rate; t += random.exponential(1)) sum += 1 + random.unit();
    values.push_back(sum);
  }
  double m = 0;
  for (const double v : values) m += v / draws;
  double c2 = 0;
  double c3 = 0;
  for (const double v : values) c2 += (v - m) * (v - m) / draws, c3 += std::pow(v - m, 3) / draws;
  EXPECT_NEAR(shape.mean, m, 0.03);
  EXPECT_NEAR(shape.sd, std::sqrt(c2), 0.03);
  EXPECT_NEAR(shape.skewness, c3 / std::pow(c2, 1.5), 0.03);
}

TEST(Compound, ExpansionIsAsNearAsStated) {
  for (const auto& [nodes, off] : {std::pair{1, 0.008}, {4, 0.002}, {8, 0.001}, {32, 0.001}}) {
    const auto count = CountLaw::poisson(per_node * nodes);
    const Shape shape = compound_shape(count, uniform_moments(prompt, prompt + growth));
    EXPECT_NEAR(shape.cornish_fisher(level), by_recursion(count, footprint(0.001)), off) << nodes;
  }
}

TEST(CountLaw, BuffersAreThePublishedOnes) {
  EXPECT_EQ(CountLaw::poisson(per_node).quantile(level), 5);
  EXPECT_EQ(CountLaw::negative_binomial(per_node, 2 * per_node).quantile(level), 7);
}

TEST(CountLaw, WalksFromNearTheMeanWhereItIsLarge) {
  // P(K <= 10^6) is a little over one half.
  EXPECT_NEAR(static_cast<double>(CountLaw::poisson(1e6).quantile(0.5)), 1e6, 1);
}

TEST(Lattice, DispersalKeepsMassAndMean) {
  Lattice law(0.01);
  law.add_atom(0.5031, 0.2);
  law.add_uniform(0.2037, 0.9111, 0.3);
  // Density proportional to x on [0.1, 0.7].
  law.add_spread(0.1, 0.7, [](double x) { return PartialMoments{0.5 * x * x / 0.48, 0.5 * x * x * x / 0.72}; });
  EXPECT_NEAR(law.total(), 1.0, 1e-12);
  const double spread_mean = 0.5 * (0.343 - 0.001) / 0.72;
  EXPECT_NEAR(law.moment(1), 0.2 * 0.5031 + 0.3 * (0.2037 + 0.9111) / 2 + spread_mean, 1e-12);
  EXPECT_EQ(run_count(footprint(0.001)) <= 5, true);
}

TEST(Lattice, QuantileInterpolatesAndKeepsTheAtomAtZero) {
  Lattice law(1);
  law.mass = {0.5, 0.25, 0.25};
  EXPECT_EQ(law.quantile(0.4), 0);
  EXPECT_NEAR(law.quantile(0.625), 1.0, 1e-12);
  EXPECT_EQ(law.point_quantile(0.51), 1);
  EXPECT_NEAR(law.cdf(1.0), 0.625, 1e-12);
  EXPECT_TRUE(std::isinf(law.quantile(1.01)));
}

}  // namespace
}  // namespace evenkeel::maths
