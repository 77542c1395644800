#include <fmt/format.h>

#include "cli/plan_answer.hpp"

namespace evenkeel::cli {

namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view part = "Polyulya 2026, part";

void add_to_set(Words& words, const ReserveAnswer& answer) {
  const auto& plan = answer.plan;
  if (answer.questions.published) {
    words.emplace_back("to_set", fmt::format("the pooled reserve alone ({} 5)", part));
    words.emplace_back("floor", fmt::format("one line a worker, the siloed reserve ({} 3)", part));
    return;
  }
  words.emplace_back(
      "to_set",
      fmt::format("arrivals: quantile at level {:.9g} of (1 - q) F_D + q F_(T+D), q = {:g}, D = {:g} s, T = {:g} s; "
                  "resident_growth: growth * D * rate * E[S] (Little's law); not in the series, which has q = 1 "
                  "and D = 0; lattice of {:g}",
                  plan.level, plan.correlated_share, plan.staleness_s, plan.scale_time_s,
                  answer.resources.front().reserve.total.step));
  words.emplace_back(
      "floor", fmt::format("growth: growth * T * rate * E[S], a bound on the mean; on_the_wire: quantile 0.999 of "
                           "one worker's arrivals over D; siloed: one worker's own reserve ({} 3); the split is "
                           "not in the series",
                           part));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> details_provenance(const ReserveAnswer& answer) {
  Words words;
  add_to_set(words, answer);
  const ResourceAnswer& memory = answer.resources.front();
  const double step = memory.reserve.total.step;
  if (memory.pools.front().overlap.size() > 0) {
    words.emplace_back("overlap", "Hall's condition on the quantiles of every set of models; not in the series");
  }
  if (answer.questions.windows) {
    words.emplace_back("windows",
                       fmt::format("((1 - p) + p E_R[exp(rate R (phi - 1))])^nodes, R the time left, by transform on "
                                   "a lattice of {:g} and 32 points of Gauss and Legendre; the first reading is {} "
                                   "5's, the others are not in the series",
                                   step, part));
  }
  if (answer.questions.standing) {
    words.emplace_back("net_change",
                       "stationary residents (Mirasol 1963): arrivals + growth - departures as three compound "
                       "Poisson parts, by transform; rates constant, arrivals independent");
    words.emplace_back("standing",
                       "Poisson number of tasks with age density S(a) / E[S] (Eick, Massey and Whitt 1993), by "
                       "transform; nobody refused");
  }
  if (answer.questions.maximum) {
    words.emplace_back("running_maximum",
                       fmt::format("simulated: {} windows from seed {}, interval of 95 % by order statistics",
                                   answer.questions.paths, answer.questions.seed));
  }
  if (answer.questions.loss) {
    words.emplace_back("loss",
                       "Erlang B and the Poisson law cut off at the tasks that fit, each holding its mean at a random "
                       "instant; by model: Kaufman 1981 and Roberts 1981, on 1/1000 of the capacity");
  }
  if (answer.questions.footprints) {
    words.emplace_back("footprints",
                       fmt::format("P + sigma * age at five ages; the last is P + sigma E[S^2] / (2 E[S]) ({} 3, "
                                   "Proposition 4)",
                                   part));
  }
  if (answer.questions.costs) {
    words.emplace_back("cheapest",
                       fmt::format("least of under E[(D-H)+] + over E[(H-D)+] + freeze N^simultaneity P(D > H) over "
                                   "the points of a lattice of {:g}, by transform; the first two terms are {} 1's",
                                   step, part));
  }
  return words;
}

}  // namespace evenkeel::cli
