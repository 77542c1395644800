// What a peer says of its rate at each level, and what of it is believed.
#include "peers/rates.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "peers/peer.hpp"

namespace evenkeel::peers {
namespace {

using std::chrono::seconds;

const std::vector<fleet::RatePoint> pair = {{1, 49.24}, {2, 87.82}};

TEST(Rates, ThatAreSoundAreTakenAsTheyAre) {
  EXPECT_EQ(read_rates(pair, 64).points, pair);
  EXPECT_EQ(read_rates(pair, 64).note, "");
  EXPECT_TRUE(read_rates({}, 64).points.empty());
}

TEST(PeersR7, RatesThatCannotBeAreRefusedWholeAndSayWhy) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<fleet::RatePoint>& wrong : {std::vector<fleet::RatePoint>{{1, 0}},
                                                     {{1, -5}},
                                                     {{1, nan}},
                                                     {{1, INFINITY}},
                                                     {{1, 1e10}},
                                                     {{0, 5}},
                                                     {{nan, 5}},
                                                     {{65, 5}},
                                                     {{2, 5}, {1, 5}},
                                                     {{2, 5}, {2, 6}},
                                                     {{1, 5}, {2, nan}},
                                                     std::vector<fleet::RatePoint>(65, fleet::RatePoint{1, 5})}) {
    const PublishedRates refused = read_rates(wrong, 64);
    EXPECT_TRUE(refused.points.empty());
    EXPECT_NE(refused.note.find("refused"), std::string::npos);
  }
}

Fingerprint serving(std::string id) { return {std::move(id), 4096, "vllm", "none", {}, {}, {}, {}}; }

struct Watched {
  Peer peer{serving("m")};
  Time now{};
  void answers(std::string id, std::optional<std::int64_t> measured, std::vector<fleet::RatePoint> rates = pair) {
    now += seconds(5);
    peer.probe_sent(now);
    Status status;
    status.ready = true;
    status.fingerprint = serving(std::move(id));
    status.capacity = "2";
    status.measured_at = status.rates_at = measured;
    status.rates = std::move(rates);
    peer.probe_answered(now, status);
  }
  [[nodiscard]] std::vector<fleet::RatePoint> rates() const {
    const auto points = peer.rates(now);
    return {points.begin(), points.end()};
  }
};

TEST(PeersR8, RatesAreThoseOfWhatIsServedAndComeBackWithALaterMeasurementOnly) {
  Watched of;
  of.answers("m", 100);
  EXPECT_EQ(of.rates(), pair);
  of.answers("other", 100);
  EXPECT_TRUE(of.rates().empty());
  of.answers("m", 100);
  EXPECT_TRUE(of.rates().empty());
  EXPECT_NE(of.peer.rates_note().find("put away"), std::string::npos);
  EXPECT_EQ(of.peer.share(of.now).slots, 1) << "and so is the capacity";
  of.answers("m", 200);
  EXPECT_EQ(of.rates(), pair);
  EXPECT_EQ(of.peer.share(of.now).slots, 2);
}

TEST(Rates, ThatNobodyRenewsAreForgotten) {
  Watched of;
  of.answers("m", 100);
  of.now += seconds(12);
  EXPECT_EQ(of.rates(), pair);
  of.now += seconds(5);
  EXPECT_TRUE(of.rates().empty());
}

TEST(Rates, ThatAreSaidNoMoreAreGone) {
  Watched of;
  of.answers("m", 100);
  of.answers("m", 100, {});
  EXPECT_TRUE(of.rates().empty());
}

}  // namespace
}  // namespace evenkeel::peers
