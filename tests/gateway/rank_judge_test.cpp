#include "gateway/rank_judge.hpp"

#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A router, an engine of some ranks and the clock between them, in steps of 10 ms. Requests last their own time; a
/// report is of how things stood a while ago, as gauges are.
class World {
 public:
  explicit World(std::size_t ranks, std::uint64_t seed = 1)
      : ours_(ranks), there_(ranks), foreign_(ranks), random_(seed) {}

  bool honours = true;
  Duration gauge_age = milliseconds(200);
  Duration slow_client = Duration(0);  ///< a lease ends so long after the engine has ended the request

  /// So many requests come in the next `time`, each to a rank drawn and lasting `mean` on average.
  void run(Duration time, double per_second, Duration mean) {
    for (const Time end = now_ + time; now_ < end; now_ += milliseconds(10)) {
      if (random_.unit() < per_second / 100) {
        const std::size_t sent = random_.below(ours_.size());
        const std::size_t taken = honours ? sent : least();
        const Time until = now_ + from_seconds(random_.exponential(to_seconds(mean)));
        open_.push_back({sent, taken, until, until + slow_client});
        ++ours_[sent].begun;
        ++there_[taken];
      }
      for (auto& request : open_) {
        if (request.until <= now_ && !request.done) {
          request.done = true;
          --there_[request.taken];
        }
        if (request.until_read <= now_ && !request.read) {
          request.read = true;
          ++ours_[request.sent].ended;
        }
      }
      std::erase_if(open_, [](const Open& request) { return request.read && request.done; });
      shown_.emplace_back(now_, there_);
      if (now_ - asked_ >= seconds(1)) report();
    }
  }
  void add_foreign(std::size_t rank, double requests) { foreign_[rank] += requests; }

  RankJudge judge;

 private:
  struct Open {
    std::size_t sent, taken;
    Time until, until_read;
    bool done = false, read = false;
  };

  [[nodiscard]] std::size_t least() const {
    return static_cast<std::size_t>(std::min_element(there_.begin(), there_.end()) - there_.begin());
  }
  void report() {
    asked_ = now_;
    while (shown_.size() > 1 && shown_[1].first <= now_ - gauge_age) shown_.pop_front();
    for (std::size_t i = 0; i < ours_.size(); ++i) ours_[i].reported = shown_.front().second[i] + foreign_[i];
    judge.see(now_ - milliseconds(5), now_, ours_);
  }

  std::vector<RankJudge::Rank> ours_;
  std::vector<double> there_, foreign_;
  std::deque<std::pair<Time, std::vector<double>>> shown_;
  std::vector<Open> open_;
  Random random_;
  Time now_ = Time{} + seconds(100);
  Time asked_ = now_;
};

TEST(RankJudge, AnEngineThatHonoursTheRankIsBelieved) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(8, seed);
    world.run(seconds(60), 4, seconds(5));
    EXPECT_EQ(world.judge.honoured(), true) << seed;
    EXPECT_LT(world.judge.share(), 0.1) << seed;
  }
}

TEST(RankJudge, AnEngineThatSpreadsByItselfIsFound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(8, seed);
    world.honours = false;
    world.run(seconds(60), 4, seconds(5));
    EXPECT_EQ(world.judge.honoured(), false) << seed;
    EXPECT_GT(world.judge.share(), 0.7) << seed;
  }
}

TEST(RankJudge, SaysNothingBeforeSeveralReportsSpeak) {
  World world(8);
  world.honours = false;
  world.run(seconds(4), 4, seconds(20));
  EXPECT_LT(world.judge.reports(), 5);
  EXPECT_EQ(world.judge.honoured(), std::nullopt);
}

TEST(RankJudge, RequestsOfOthersAreNoEvidence) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(8, seed);
    world.add_foreign(seed % 8, 40);
    world.add_foreign(seed % 3, 7);
    world.run(seconds(60), 8, seconds(5));
    EXPECT_NE(world.judge.honoured(), false) << seed;
  }
}

TEST(RankJudge, AnswersThatClientsAreSlowToReadAreNone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(8, seed);
    world.slow_client = seconds(3);
    world.run(seconds(60), 4, seconds(5));
    EXPECT_EQ(world.judge.honoured(), true) << seed;
  }
}

TEST(RankJudge, ShortRequestsAndOldGaugesAreNone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(8, seed);
    world.gauge_age = milliseconds(900);
    world.run(seconds(60), 60, milliseconds(300));
    EXPECT_NE(world.judge.honoured(), false) << seed;
  }
}

TEST(RankJudge, AnIdleEngineTellsNothing) {
  World world(8);
  world.run(seconds(120), 0, seconds(1));
  EXPECT_EQ(world.judge.reports(), 0);
  EXPECT_EQ(world.judge.honoured(), std::nullopt);
}

TEST(RankJudge, ChangesItsMindWithTheEngine) {
  World world(4);
  world.run(seconds(60), 4, seconds(5));
  ASSERT_EQ(world.judge.honoured(), true);
  world.honours = false;
  world.run(seconds(90), 4, seconds(5));
  EXPECT_EQ(world.judge.honoured(), false);
}

TEST(RankJudge, AnotherNumberOfRanksBeginsAnew) {
  World world(8);
  world.honours = false;
  world.run(seconds(60), 4, seconds(5));
  ASSERT_EQ(world.judge.honoured(), false);
  const std::vector<RankJudge::Rank> four(4);
  const Time later = Time{} + seconds(1000);
  world.judge.see(later, later, four);
  EXPECT_EQ(world.judge.honoured(), std::nullopt);
  EXPECT_EQ(world.judge.reports(), 0);
}

TEST(RankJudge, OneMisplacedRequestCountsAsTheFormulaSays) {
  // One long request of ours at rank 0 of four, which reports show at rank 2: sure (1,0,0,0), possible (1,0,0,0),
  // reported (0,0,1,0): lacking 1, surplus 1; spread evenly 0.75 each.
  RankJudge judge;
  std::vector<RankJudge::Rank> ranks(4);
  ranks[0].begun = 1;
  ranks[2].reported = 1;
  Time at = Time{} + seconds(10);
  judge.see(at, at, ranks);
  double weight = 0;
  for (int report = 1; report <= 30; ++report) {
    at += seconds(1);
    judge.see(at, at, ranks);
    EXPECT_EQ(judge.reports(), report);
    EXPECT_DOUBLE_EQ(judge.share(), 1);
    weight = weight * 0.95 + 0.75;
    EXPECT_EQ(judge.honoured().has_value(), report >= 5 && weight >= 8) << report;
  }
  EXPECT_EQ(judge.honoured(), false);
}

}  // namespace
}  // namespace evenkeel::gateway
