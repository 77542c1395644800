#include "emulator/rank_balancer.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::emulator {
namespace {

using std::chrono::milliseconds;

/// Publishes what it is told to; everything else is not asked for.
class Publisher final : public engine::EngineModel {
 public:
  explicit Publisher(std::size_t ranks) : gauges_(ranks) {}
  void publish(std::size_t rank, std::int64_t waiting, std::int64_t running, double kv_usage) {
    gauges_[rank].waiting = waiting;
    gauges_[rank].running = running;
    gauges_[rank].kv_usage = kv_usage;
  }
  engine::SubmitOutcome submit(Time, const engine::EngineRequest&) override {
    return engine::SubmitOutcome::queue_full;
  }
  bool abort(Time, engine::RequestId) override { return false; }
  [[nodiscard]] std::optional<Time> next_event() const override { return std::nullopt; }
  void advance(Time, engine::EngineSink&) override {}
  [[nodiscard]] std::size_t ranks() const override { return gauges_.size(); }
  [[nodiscard]] const engine::EngineGauges& gauges(std::size_t rank) const override { return gauges_[rank]; }
  [[nodiscard]] engine::EngineBooks books(std::size_t) const override { return {}; }
  [[nodiscard]] Result<void> check() const override { return {}; }

 private:
  std::vector<engine::EngineGauges> gauges_;
};

constexpr Time at(int ms) { return Time{} + milliseconds(ms); }

TEST(RankBalancer, TakesTheSmallestScoreOfTheRuleFromWhereTheScanStarts) {
  constexpr std::size_t ranks = 5;
  Random random(3);
  int by_pressure = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Publisher engine(ranks);
    std::array<std::int64_t, ranks> own{};
    std::array<double, ranks> current{};
    std::array<double, ranks> old{};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto waiting = static_cast<std::int64_t>(random.below(4));
      const auto running = static_cast<std::int64_t>(random.below(6));
      const double kv = static_cast<double>(random.below(5)) / 4;
      own[rank] = static_cast<std::int64_t>(random.below(9));
      engine.publish(rank, waiting, running, kv);
      current[rank] = static_cast<double>(std::max(own[rank], waiting + running));
      if (waiting > 0 && kv > 0.5) current[rank] += static_cast<double>(waiting) * 6 * (kv - 0.5);
      old[rank] = static_cast<double>(4 * waiting + running);
    }
    const std::size_t before = random.below(ranks);
    RankBalancer balancer(RankBalancing::current, ranks);
    RankBalancer older(RankBalancing::old, ranks);
    // So many requests without any load, each of which goes to the rank where the scan starts, and the scan moves on.
    const std::array<std::int64_t, ranks> nothing{};
    for (std::size_t i = 0; i < before; ++i) ASSERT_EQ(balancer.choose(nothing), i);
    balancer.see(at(100), engine);
    older.see(at(100), engine);
    const std::size_t chosen = balancer.choose(own);
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t rank = (before + i) % ranks;
      if (rank == chosen) break;
      EXPECT_GT(current[rank], current[chosen]);  // of equals the first that the scan meets
    }
    EXPECT_EQ(current[chosen], *std::ranges::min_element(current));
    EXPECT_EQ(older.choose(own), static_cast<std::size_t>(std::ranges::min_element(old) - old.begin()));
    if (std::ranges::find_if(current, [](double s) { return s != static_cast<double>(static_cast<int>(s)); }) !=
        current.end())
      ++by_pressure;
  }
  EXPECT_GT(by_pressure, 100);  // the trials did reach the term of memory
}

TEST(RankBalancer, SeesTheRanksAsTheyWereAtTheLastPublication) {
  Publisher engine(2);
  RankBalancer balancer(RankBalancing::old, 2);
  const std::array<std::int64_t, 2> own{};
  engine.publish(0, 0, 9, 0);
  balancer.see(at(99), engine);  // the first publication is at 100 ms
  EXPECT_EQ(balancer.choose(own), 0U);
  balancer.see(at(100), engine);
  EXPECT_EQ(balancer.choose(own), 1U);
  engine.publish(0, 0, 0, 0);
  balancer.see(at(199), engine);
  EXPECT_EQ(balancer.choose(own), 1U);  // rank 1 counts as 4 now, rank 0 still as 9
  EXPECT_EQ(balancer.choose(own), 1U);  // 8
  EXPECT_EQ(balancer.choose(own), 0U);  // 12
  balancer.see(at(200), engine);        // the counts of its own are forgotten
  EXPECT_EQ(balancer.choose(own), 0U);
  EXPECT_EQ(balancer.choose(own), 1U);
}

TEST(RankBalancer, RoundRobinSeesNothing) {
  Publisher engine(3);
  engine.publish(1, 50, 50, 1);
  RankBalancer balancer(RankBalancing::round_robin, 3);
  balancer.see(at(100), engine);
  const std::array<std::int64_t, 3> own{0, 9, 0};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(balancer.choose(own), i % 3);
}

}  // namespace
}  // namespace evenkeel::emulator
