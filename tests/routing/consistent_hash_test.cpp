// Sticky sessions: whose they are, who loses them, and the bound on the load.
#include "routing/consistent_hash.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// Where each key would go on an idle fleet of the given candidates.
std::map<std::uint64_t, std::string> owners(const Fleet& fleet, const std::vector<std::uint32_t>& candidates,
                                            int keys) {
  ConsistentHash policy;
  Random random(1);
  std::map<std::uint64_t, std::string> out;
  for (int k = 1; k <= keys; ++k) {
    const std::uint64_t key = mix64(static_cast<std::uint64_t>(k)) | 1U;
    out[key] = fleet.workers[place(policy, fleet, request_for(candidates, 100, key), random).worker].name;
  }
  return out;
}

TEST(ConsistentHash, KeepsAKeyWhereItIs) {
  const Fleet fleet(8);
  EXPECT_EQ(owners(fleet, fleet.all(), 2000), owners(fleet, fleet.all(), 2000));
}

TEST(ConsistentHash, SpreadsKeysEvenly) {
  const Fleet fleet(8);
  std::map<std::string, double> count;
  for (const auto& [key, name] : owners(fleet, fleet.all(), 16000)) ++count[name];
  std::vector<double> seen;
  for (const auto& [name, keys] : count) seen.push_back(keys);
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_LT(chi_squared(seen, std::vector<double>(8, 2000)), chi_squared_limit(7));
}

TEST(ConsistentHash, MovesOnlyTheKeysOfAWorkerThatLeaves) {
  const Fleet fleet(6);
  const auto before = owners(fleet, fleet.all(), 4000);
  const auto after = owners(fleet, {0, 1, 3, 4, 5}, 4000);
  int moved = 0;
  for (const auto& [key, name] : before) {
    if (name != "w2") {
      ASSERT_EQ(after.at(key), name);
    } else {
      ++moved;
      ASSERT_NE(after.at(key), "w2");
    }
  }
  EXPECT_NEAR(moved, 4000.0 / 6, 120);
}

TEST(ConsistentHash, MovesOnlyAFairShareToAWorkerThatJoins) {
  Fleet fleet(5);
  const auto before = owners(fleet, fleet.all(), 4000);
  fleet.add(9);
  int moved = 0;
  for (const auto& [key, name] : owners(fleet, fleet.all(), 4000)) {
    if (name == before.at(key)) continue;
    ASSERT_EQ(name, "w9");
    ++moved;
  }
  EXPECT_NEAR(moved, 4000.0 / 6, 120);
}

TEST(ConsistentHash, GoesByNameSoThatOrderAndIdDoNotMatter) {
  const Fleet fleet(4);
  Fleet shuffled(0);
  for (const std::uint32_t id : {2U, 0U, 3U, 1U}) shuffled.add(id);
  for (std::uint32_t i = 0; i < 4; ++i) shuffled.workers[i].id = WorkerId{i};
  EXPECT_EQ(owners(fleet, fleet.all(), 500), owners(shuffled, shuffled.all(), 500));
}

TEST(ConsistentHash, NeverLoadsAWorkerBeyondTheBoundEvenForOneKey) {
  for (const std::size_t workers : {2U, 3U, 5U, 8U}) {
    Fleet fleet(workers);
    Random random(2);
    ConsistentHash policy;
    const auto all = fleet.all();
    for (int placed = 1; placed <= 400; ++placed) {
      const std::uint64_t key = placed % 3 == 0 ? 7 : 99;  // two hot keys
      const auto placement = place(policy, fleet, request_for(all, 100, key), random);
      ++fleet.workers[placement.worker].load.in_flight;
      const double mean = placed / static_cast<double>(workers);
      const auto bound = static_cast<std::int64_t>(std::ceil(1.25 * mean));
      for (const auto& worker : fleet.workers) ASSERT_LE(worker.load.in_flight, bound) << placed << " on " << workers;
    }
  }
}

TEST(ConsistentHash, SpillsOnlyTheExcess) {
  Fleet fleet(4);
  Random random(3);
  ConsistentHash policy;
  const auto all = fleet.all();
  const std::uint64_t key = 12345;
  const auto home = place(policy, fleet, request_for(all, 100, key), random).worker;
  for (auto& worker : fleet.workers) worker.load.in_flight = 10;
  // Bound: ceil(1.25 * 41 / 4) = 13, so home takes the key up to its 13th request.
  fleet.workers[home].load.in_flight = 11;
  auto placement = place(policy, fleet, request_for(all, 100, key), random);
  EXPECT_EQ(placement.worker, home);
  EXPECT_EQ(placement.reason, "key");
  fleet.workers[home].load.in_flight = 16;  // bound ceil(1.25 * 47 / 4) = 15
  placement = place(policy, fleet, request_for(all, 100, key), random);
  EXPECT_NE(placement.worker, home);
  EXPECT_EQ(placement.reason, "key_overflow");
  const auto second = placement.worker;
  placement = place(policy, fleet, request_for(all, 100, key), random);
  EXPECT_EQ(placement.worker, second) << "the overflow has one home, too";
  fleet.workers[home].load.in_flight = 5;  // the crowd has gone: back home
  EXPECT_EQ(place(policy, fleet, request_for(all, 100, key), random).worker, home);
}

TEST(ConsistentHash, CallsItOverflowAlsoWhenTheHomeIsFull) {
  Fleet fleet(4);
  Random random(4);
  ConsistentHash policy;
  const std::uint64_t key = 12345;
  auto candidates = fleet.all();
  const auto home = place(policy, fleet, request_for(candidates, 100, key), random).worker;
  fleet.workers[home].load.in_flight = fleet.workers[home].max_in_flight;
  candidates.erase(candidates.begin() + home);
  const auto placement = place(policy, fleet, request_for(candidates, 100, key), random);
  EXPECT_NE(placement.worker, home);
  EXPECT_EQ(placement.reason, "key_overflow");
}

TEST(ConsistentHash, FindsAPlaceUnderAnyForeignLoad) {
  Random random(5);
  ConsistentHash policy;
  for (int i = 0; i < 5000; ++i) {
    Fleet fleet(1 + random.below(5));
    fill_randomly(fleet, random);
    for (auto& worker : fleet.workers) worker.foreign_requests = 3 * random.unit();
    const auto all = fleet.all();
    ASSERT_LT(place(policy, fleet, request_for(all, 100, 1 + random.below(50)), random).worker, all.size());
  }
}

TEST(ConsistentHash, SendsARequestWithoutAKeyToTheLeastLoaded) {
  Fleet fleet(4);
  Random random(6);
  ConsistentHash policy;
  for (int i = 0; i < 500; ++i) {
    fill_randomly(fleet, random);
    const auto all = fleet.all();
    const auto placement = place(policy, fleet, request_for(all), random);
    EXPECT_EQ(placement.reason, "no_key");
    const auto load = [](const fleet::WorkerView& w) {
      return static_cast<double>(w.load.in_flight) + w.foreign_requests;
    };
    for (const auto& worker : fleet.workers) ASSERT_LE(load(fleet.workers[placement.worker]), load(worker));
  }
}

}  // namespace
}  // namespace evenkeel::routing
