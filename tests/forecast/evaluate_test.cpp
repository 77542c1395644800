// The timeline, the measures, and whole evaluations whose answers are known.
#include "forecast/evaluate.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/exact_match.hpp"
#include "forecast/learned.hpp"
#include "forecast/survival.hpp"
#include "forecast/train.hpp"

namespace evenkeel::forecast {
namespace {

class Diary final : public TimelineObserver {
 public:
  void running(const fleet::FleetView& fleet, Time now) override {
    for (const auto& request : fleet.workers.front().running) {
      const auto lived = (now - begun.at(request.id.value)) / std::chrono::milliseconds(50);
      EXPECT_EQ(request.generated, lived);
    }
    ++looks;
    see(now);
  }
  void finished(const fleet::LeaseSummary& summary, Time now) override {
    const std::uint64_t id = summary.request.value;
    EXPECT_EQ(now - begun.at(id), summary.output_tokens.value() * Duration(std::chrono::milliseconds(50)));
    lengths[id] = summary.output_tokens.value();
    see(now);
  }
  void asked(std::size_t index, const fleet::RunningView& request, std::int64_t output, Time now) override {
    EXPECT_EQ(request.id.value, index + 1);
    EXPECT_FALSE(lengths.contains(request.id.value)) << "asked after its end";
    if (request.generated == 0) begun[request.id.value] = now;
    EXPECT_LT(request.generated, output);
    ages[request.id.value].push_back(request.generated);
    see(now);
  }
  void see(Time now) {
    EXPECT_GE(now, last);
    last = now;
  }
  std::map<std::uint64_t, Time> begun;
  std::map<std::uint64_t, std::int64_t> lengths;
  std::map<std::uint64_t, std::vector<std::int64_t>> ages;
  int looks = 0;
  Time last{};
};

TEST(Timeline, TellsEverythingOnceInOrder) {
  Random random(1);
  std::vector<PastRequest> requests;
  double at = 0;
  for (int i = 0; i < 500; ++i) {
    at += random.exponential(0.2);
    requests.push_back({from_seconds(at), 10, static_cast<std::int64_t>(random.below(300)), 0});
  }
  Diary diary;
  run_timeline(requests, {.every = 40}, diary);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::int64_t output = requests[i].output;
    ASSERT_EQ(diary.lengths.contains(i + 1), output > 0);
    if (output == 0) continue;
    EXPECT_EQ(diary.lengths[i + 1], output);
    const auto& ages = diary.ages[i + 1];
    ASSERT_EQ(static_cast<std::int64_t>(ages.size()), 1 + (output - 1) / 40);
    for (std::size_t k = 0; k < ages.size(); ++k) EXPECT_EQ(ages[k], static_cast<std::int64_t>(40 * k));
  }
  EXPECT_GT(diary.looks, 10);
}

TEST(Measures, AreThoseOfTheDefinitions) {
  Random random(2);
  std::vector<Verdict> all;
  MeasureSums sums(80);
  for (int i = 0; i < 400; ++i) {
    Verdict verdict;
    verdict.within = static_cast<double>(random.below(20)) / 19;  // many ties
    const double mu = 1 + 70 * random.unit();
    verdict.remaining = (1 - verdict.within) * 80 + verdict.within * mu;
    verdict.truth = static_cast<std::int64_t>(1 + random.below(200));
    all.push_back(verdict);
    sums.add(verdict);
  }
  double pairs = 0, wins = 0, brier = 0, c_error = 0, mu_error = 0, positives = 0;
  for (const Verdict& a : all) {
    const bool positive = a.truth <= 80;
    brier += std::pow(a.within - (positive ? 1 : 0), 2);
    c_error += std::abs(a.remaining - static_cast<double>(std::min<std::int64_t>(a.truth, 80)));
    if (!positive) continue;
    ++positives;
    const double mu = a.within > 0 ? 80 - (80 - a.remaining) / a.within : 80;
    mu_error += std::abs(mu - static_cast<double>(a.truth));
    for (const Verdict& b : all) {
      if (b.truth <= 80) continue;
      ++pairs;
      wins += a.within > b.within ? 1 : a.within == b.within ? 0.5 : 0;
    }
  }
  const Measures measures = sums.measures();
  EXPECT_EQ(measures.questions, 400U);
  EXPECT_EQ(measures.positives, static_cast<std::uint64_t>(positives));
  EXPECT_NEAR(measures.auc.value(), wins / pairs, 1e-12);
  EXPECT_NEAR(measures.brier, brier / 400, 1e-12);
  EXPECT_NEAR(measures.c_error, c_error / 400, 1e-12);
  EXPECT_NEAR(measures.mu_error.value(), mu_error / positives, 1e-9);
  const double share = positives / 400;
  EXPECT_NEAR(measures.base_brier, share * (1 - share), 1e-12);
  std::uint64_t binned = 0;
  for (std::size_t i = 0; i < measures.bins.size(); ++i) {
    const auto& bin = measures.bins[i];
    binned += bin.count;
    EXPECT_GE(bin.forecast, static_cast<double>(i) / 10 - 1e-12);
    EXPECT_LE(bin.forecast, static_cast<double>(i + 1) / 10 + 1e-12);
  }
  EXPECT_EQ(binned, 400U);
}

TEST(Measures, OfNothingAreNothing) {
  const Measures measures = MeasureSums(80).measures();
  EXPECT_EQ(measures.questions, 0U);
  EXPECT_FALSE(measures.auc);
  EXPECT_FALSE(measures.mu_error);
}

TEST(Measures, OfOneClassHaveNoAreaUnderACurve) {
  for (const bool positive : {true, false}) {
    MeasureSums sums(80);
    for (int i = 1; i <= 5; ++i) sums.add({0.1 * i, 40, positive ? i : 80 + i});
    const Measures measures = sums.measures();
    EXPECT_EQ(measures.questions, 5U);
    EXPECT_FALSE(measures.auc) << "there is no pair to compare";
    EXPECT_EQ(measures.mu_error.has_value(), positive);
    EXPECT_EQ(measures.base_brier, 0);
  }
}

/// Poisson arrivals; `classes` templates with outputs near a length of their own, or geometric outputs with none.
std::vector<PastRequest> draw(std::uint64_t seed, int count, std::uint64_t classes) {
  Random random(seed);
  std::vector<double> mean(classes);
  for (double& m : mean) m = 50 + 1000 * random.unit();
  std::vector<PastRequest> requests;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += random.exponential(0.1);
    PastRequest request{from_seconds(at), 100, 0, 0};
    if (classes > 0) {
      const std::uint64_t which = random.below(classes);
      request.key = which + 1;
      request.prompt = static_cast<std::int64_t>(200 + 10 * which);
      request.output = std::max<std::int64_t>(1, std::llround(mean[which] * (0.92 + 0.16 * random.unit())));
    } else {
      request.output = 1 + static_cast<std::int64_t>(std::log1p(-random.unit()) / std::log1p(-0.005));
    }
    requests.push_back(request);
  }
  return requests;
}

TEST(Evaluate, GivesMemorylessOutputsTheBestBrierScoreThereIs) {
  const auto requests = draw(3, 12'000, 0);
  const std::vector<std::shared_ptr<Forecast>> forecasts = {std::make_shared<Survival>()};
  const Measures measures = evaluate(requests, forecasts, {}).front();
  const double p = 1 - std::pow(0.995, 80);
  EXPECT_NEAR(static_cast<double>(measures.positives) / static_cast<double>(measures.questions), p, 0.01);
  EXPECT_NEAR(measures.brier, p * (1 - p), 0.004);
  EXPECT_NEAR(measures.auc.value(), 0.5, 0.03) << "there is nothing to tell requests apart by";
}

TEST(Evaluate, ShowsWhatKeysAreWorth) {
  const auto requests = draw(4, 6000, 40);
  const std::vector<std::shared_ptr<Forecast>> forecasts = {std::make_shared<Survival>(),
                                                            std::make_shared<ExactMatch>()};
  const auto measures = evaluate(requests, forecasts, {});
  ASSERT_EQ(measures.size(), 2U);
  EXPECT_EQ(measures[0].questions, measures[1].questions);
  EXPECT_GT(measures[1].auc.value(), 0.95);
  EXPECT_GT(measures[1].auc.value(), measures[0].auc.value() + 0.1);
  EXPECT_LT(measures[1].brier, 0.5 * measures[0].brier);
  EXPECT_LT(measures[1].c_error, 0.5 * measures[0].c_error);
}

TEST(Train, LearnsFromWhatWasKnownAtTheSplitOnly) {
  auto requests = draw(5, 4000, 40);
  TrainingOptions options;
  options.share = 0.6;
  const auto first = training_samples(requests, options);
  ASSERT_GT(first.within.labels.size(), 1000U);
  // Whatever comes after the split must change nothing.
  const Time split = time_of_split(requests, 0.6);
  for (auto& request : requests) {
    if (Time(request.arrival) >= split) request.output = 7;
    const auto seen = (split - Time(request.arrival)) / options.timeline.per_token;
    if (request.output > seen) request.output = std::max<std::int64_t>(request.output, seen) + 500;
  }
  const auto second = training_samples(requests, options);
  EXPECT_EQ(first.within.rows, second.within.rows);
  EXPECT_EQ(first.within.labels, second.within.labels);
  EXPECT_EQ(first.remaining.labels, second.remaining.labels);
  EXPECT_EQ(first.requests, second.requests);
}

TEST(Train, LearnsWhatThePromptTells) {
  // The prompt's length names the class, so trees can know what keys know.
  const auto requests = draw(6, 6000, 8);
  TrainingOptions options;
  const auto model = train(requests, options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->within.trees(), 200U);
  const std::vector<std::shared_ptr<Forecast>> forecasts = {
      std::make_shared<Survival>(), std::make_shared<Learned>(std::make_shared<const LearnedModel>(*model))};
  const auto measures = evaluate(requests, forecasts, {});
  EXPECT_GT(measures[1].auc.value(), 0.95);
  EXPECT_LT(measures[1].brier, 0.5 * measures[0].brier);
  EXPECT_LT(measures[1].c_error, 0.5 * measures[0].c_error);
}

TEST(Train, KeepsToItsBoundOnSamples) {
  const auto requests = draw(7, 4000, 0);
  TrainingOptions options;
  const auto all = training_samples(requests, options).within.labels.size();
  options.most_samples = all / 3;
  const auto some = training_samples(requests, options).within.labels.size();
  EXPECT_LE(some, all / 3);
  EXPECT_GT(some, all / 6);
}

TEST(Train, SaysWhatIsMissingOrWrong) {
  const auto few = train(draw(8, 20, 0), {});
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().message.find("too little"), std::string::npos) << few.error().message;
  EXPECT_FALSE(train({}, {}));
  TrainingOptions options;
  options.horizon = 0;
  EXPECT_EQ(fault_of(options), "horizon is 0; allowed: 1 to 10000");
  options = {};
  options.timeline.every = 0;
  EXPECT_EQ(fault_of(options), "every is 0; allowed: 1 to 131072 tokens");
  options = {};
  options.learning_rate = std::nan("");
  EXPECT_NE(fault_of(options), "");
  EvaluationOptions evaluation;
  evaluation.share = 1;
  EXPECT_EQ(fault_of(evaluation), "split is 1; allowed: 0 to 0.95");
}

}  // namespace
}  // namespace evenkeel::forecast
