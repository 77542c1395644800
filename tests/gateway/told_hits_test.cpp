#include "gateway/told_hits.hpp"

#include <gtest/gtest.h>

#include "engines/kv_event_feed.hpp"
#include "gateway/kv_subscriber.hpp"

namespace evenkeel::gateway {
namespace {

using Ids = std::vector<std::uint32_t>;

TEST(ToldHits, TokenIdsAreReadAsTheyStandInABody) {
  EXPECT_EQ(read_token_ids("[1,2,3]"), (Ids{1, 2, 3}));
  EXPECT_EQ(read_token_ids(" [ 10 ,\n20,\t4294967295 ] "), (Ids{10, 20, 4294967295U}));
  for (const char* text : {"", "1", "[", "[]", "[1", "[1,", "[1,]", "[1 2]", "[-1]", "[1.5]", "[\"1\"]", "[[1]]",
                           "[4294967296]", "[true]", "{\"1\":2}"}) {
    EXPECT_EQ(read_token_ids(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_token_ids("[1,2,3]", 3), (Ids{1, 2, 3}));
  EXPECT_EQ(read_token_ids("[1,2,3]", 2), std::nullopt);
}

/// [1, [["BlockStored", [7], nil, ids, size]]]
std::string stored(const Ids& ids) {
  std::string bytes =
      "\x92\x01\x91\x95\xAB"
      "BlockStored\x91\x07\xC0";
  bytes += static_cast<char>(0x90 + ids.size());
  for (const std::uint32_t id : ids) bytes += static_cast<char>(id);
  return bytes + static_cast<char>(ids.size());
}

std::shared_ptr<engines::KvEventFeed> live_feed(const Ids& holds) {
  auto feed = std::make_shared<engines::KvEventFeed>(engines::KvEventFeed::Options{.capacity = 100});
  feed->connected(Time{});
  feed->published(0, stored(holds), Time{});
  return feed;
}

FleetMap fleet_of(const std::vector<std::shared_ptr<engines::KvEventFeed>>& feeds) {
  FleetMap fleet;
  for (std::uint32_t i = 0; i < feeds.size(); ++i) {
    auto upstream = std::make_shared<Upstream>();
    upstream->id = WorkerId{i};
    upstream->kv_feed = feeds[i];
    fleet.upstreams.push_back(std::move(upstream));
  }
  fleet.adapter = {false, true};
  return fleet;
}

TEST(ToldHits, EachLiveWorkerIsAskedInItsOwnBlocks) {
  const auto away = live_feed({1, 2, 3, 4});
  away->connection_lost();
  const FleetMap fleet =
      fleet_of({live_feed({1, 2, 3, 4}), nullptr, live_feed({1, 2, 3, 4, 5, 6}), away, live_feed({9, 9, 9, 9})});
  const auto hits = told_hits(fleet, ModelId{0}, "[1,2,3,4,5,6,7]");
  ASSERT_NE(hits, nullptr);
  EXPECT_EQ(*hits, (dispatch::ToldHits{{WorkerId{0}, Tokens(4)}, {WorkerId{2}, Tokens(6)}, {WorkerId{4}, Tokens(0)}}));
}

TEST(ToldHits, NothingIsToldOfAdaptersNorWithoutALiveWorker) {
  const FleetMap fleet = fleet_of({live_feed({1, 2, 3, 4})});
  EXPECT_NE(told_hits(fleet, ModelId{0}, "[1,2,3,4]"), nullptr);
  EXPECT_EQ(told_hits(fleet, ModelId{1}, "[1,2,3,4]"), nullptr);
  EXPECT_EQ(told_hits(fleet_of({nullptr}), ModelId{0}, "[1,2,3,4]"), nullptr);
}

TEST(KvEndpoint, ARankIsToldByItsPort) {
  EXPECT_EQ(kv_endpoint_of_rank("tcp://a:5557", 0), "tcp://a:5557");
  EXPECT_EQ(kv_endpoint_of_rank("tcp://[::1]:5557", 3), "tcp://[::1]:5560");
  EXPECT_EQ(kv_endpoint_of_rank("ipc:///run/kv", 0), "ipc:///run/kv");
  EXPECT_FALSE(kv_endpoint_of_rank("ipc:///run/kv", 1));
  EXPECT_FALSE(kv_endpoint_of_rank("tcp://a:65535", 1));
}

}  // namespace
}  // namespace evenkeel::gateway
