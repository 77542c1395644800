// A forecast is measured while it is used, dropped while it misleads, and taken back when it does not.
#include "forecast/guard.hpp"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/support/lives.hpp"
#include "forecast/support/service.hpp"
#include "forecast/survival.hpp"

namespace evenkeel::forecast {
namespace {

using namespace testing;

constexpr std::int64_t ahead = 40;

/// Says what a function of the request says.
class Said final : public Forecast {
 public:
  explicit Said(std::function<double(const fleet::RunningView&)> survival) : survival_(std::move(survival)) {}
  [[nodiscard]] std::string_view name() const override { return "said"; }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    return survival_(request) * static_cast<double>(horizon);
  }
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t) const override {
    return survival_(request);
  }
  void finished(const fleet::LeaseSummary&, Time) override { ++told_finished; }
  void running(const fleet::FleetView&, Time) override { ++told_running; }

  int told_finished = 0;
  int told_running = 0;

 private:
  std::function<double(const fleet::RunningView&)> survival_;
};

/// Half of the requests, those of even id, end at 50 tokens, the others at 500.
std::int64_t two_kinds(std::uint64_t id) { return id % 2 == 0 ? 50 : 500; }

/// Knows which, or takes one for the other.
std::shared_ptr<Said> who_knows(bool& lies) {
  return std::make_shared<Said>([&lies](const fleet::RunningView& request) {
    const bool stays = two_kinds(request.id.value) > request.generated + ahead;
    return stays == lies ? 0.1 : 0.9;
  });
}

TEST(Guard, MeasuresBothErrorsWithFadingWeights) {
  std::vector<double> errors, base_errors;
  double settled = 0, stayed = 0;
  const double fade = std::exp2(-1 / Guard::half_life);
  Guard guard(std::make_shared<Said>([](const auto& request) { return request.id.value % 3 == 0 ? 0.2 : 0.7; }), ahead);
  // One request after the other, so that each question is settled before the next is asked; between two looks others
  // come and go that nobody was asked about.
  for (std::uint64_t id = 1; id <= 150; ++id) {
    for (std::uint64_t i = 0; i < Guard::ends_between; ++i) guard.finished(ended(100'000 + id * 100 + i, 7), Time{});
    look(guard, {in_service(id, 10)});
    const double share = (stayed + 1) / (settled + 1);
    const bool outlives = id % 5 < 2;
    guard.finished(ended(id, outlives ? 10 + ahead + 1 : 10 + ahead), Time{});
    const double said = id % 3 == 0 ? 0.2 : 0.7;
    const double came_true = outlives ? 1 : 0;
    errors.push_back((said - came_true) * (said - came_true));
    base_errors.push_back((share - came_true) * (share - came_true));
    settled = settled * fade + 1;
    stayed = stayed * fade + came_true;
  }
  double weights = 0, brier = 0, base = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double weight = std::exp2(-static_cast<double>(errors.size() - 1 - i) / 1000);
    weights += weight;
    brier += weight * errors[i];
    base += weight * base_errors[i];
  }
  const GuardFigures figures = guard.figures();
  EXPECT_NEAR(figures.settled, weights, 1e-9);
  EXPECT_NEAR(figures.brier, brier / weights, 1e-12);
  EXPECT_NEAR(figures.base_brier, base / weights, 1e-12);
  EXPECT_NEAR(figures.skill(), 1 - brier / base, 1e-12);
  EXPECT_TRUE(figures.judged());
}

TEST(Guard, IsNoJudgeBeforeAHundredAreSettled) {
  bool lies = true;
  Guard guard(who_knows(lies), ahead);
  Service service(60, two_kinds);
  for (int i = 0; i < 300; ++i) {
    service.step(guard);
    ASSERT_EQ(guard.figures().fallen_back, guard.figures().settled >= Guard::least) << guard.figures().settled;
  }
  EXPECT_LT(guard.figures().skill(), -0.5);
  EXPECT_TRUE(guard.figures().fallen_back);
}

TEST(Guard, AnswersAsWithNoKnowledgeWhileTheForecastMisleadsAndTakesItBack) {
  bool lies = false;
  const auto inner = who_knows(lies);
  Guard guard(inner, ahead);
  Service service(100, two_kinds);
  service.run(guard, 2000);
  EXPECT_FALSE(guard.figures().fallen_back);
  EXPECT_GT(guard.figures().skill(), 0.5);
  EXPECT_EQ(guard.remaining(in_service(2, 20), 80), inner->remaining(in_service(2, 20), 80));

  lies = true;
  service.run(guard, 6000);
  EXPECT_TRUE(guard.figures().fallen_back);
  EXPECT_EQ(guard.remaining(in_service(2, 20), 80), 80);
  EXPECT_EQ(guard.survival(in_service(2, 20), ahead), 1);
  const int told = inner->told_finished;

  lies = false;
  service.run(guard, 6000);
  EXPECT_FALSE(guard.figures().fallen_back);
  EXPECT_GT(inner->told_finished, told) << "it goes on learning";
  EXPECT_EQ(guard.survival(in_service(2, 20), ahead), 0.1);
}

TEST(Guard, KeepsAForecastOfALawAboutWhichNothingCanBeKnown) {
  // Every token is the last with the same chance, so age says nothing: survival has no skill, and does no harm.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Guard guard(std::make_shared<Survival>(), ahead);
    Service service(64, [seed](std::uint64_t id) {
      Random random(seed * 1'000'000 + id);
      return 1 + static_cast<std::int64_t>(std::log(1 - random.unit()) / std::log(1 - 1.0 / 150));
    });
    for (int i = 0; i < 20'000; ++i) {
      service.step(guard);
      ASSERT_FALSE(guard.figures().fallen_back) << seed << " at step " << i;
    }
    EXPECT_NEAR(guard.figures().skill(), 0, 0.03);
  }
}

TEST(Guard, FollowsALawThatChangesAndComesBack) {
  // Half as short as they were: for a while survival says that requests stay which do not.
  std::int64_t scale = 400;
  Guard guard(std::make_shared<Survival>(), ahead);
  Service service(64, [&scale](std::uint64_t id) { return scale / 2 + static_cast<std::int64_t>(mix64(id) % 40); });
  service.run(guard, 10'000);
  EXPECT_FALSE(guard.figures().fallen_back);
  EXPECT_GT(guard.figures().skill(), 0.3);
  scale = 100;
  service.run(guard, 20'000);
  EXPECT_FALSE(guard.figures().fallen_back);
  EXPECT_GT(guard.figures().skill(), 0.3);
}

TEST(Guard, LearnsNothingFromRequestsThatBrokeOff) {
  Guard guard(std::make_shared<Survival>(), ahead);
  look(guard, {in_service(1, 0), in_service(2, 0), in_service(3, 0)});
  guard.finished(ended(1, 10, 0, 100, fleet::Outcome::cancelled), Time{});
  EXPECT_EQ(guard.figures().settled, 0);
  guard.finished(ended(2, ahead + 1, 0, 100, fleet::Outcome::cancelled), Time{});  // it outlived the question
  EXPECT_EQ(guard.figures().settled, 1);
  guard.finished(ended(3, 10), Time{});
  EXPECT_DOUBLE_EQ(guard.figures().settled, 1 + std::exp2(-1 / Guard::half_life));
}

TEST(Guard, AsksAboutABoundedShareOfManyAndAboutEachAlike) {
  std::vector<int> asked_of(4, 0);
  Guard guard(std::make_shared<Said>([&](const fleet::RunningView& request) {
                ++asked_of[request.id.value % 4];
                return 0.5;
              }),
              ahead);
  std::vector<fleet::RunningView> many;
  for (std::uint64_t id = 1; id <= 20'000; ++id) many.push_back(in_service(id, 0));
  look(guard, many);
  for (const int count : asked_of) EXPECT_NEAR(count, 125, 45);
}

}  // namespace
}  // namespace evenkeel::forecast
