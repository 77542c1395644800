#include "gateway/peer_pages.hpp"

#include <gtest/gtest.h>

#include "engines/router_page.hpp"

namespace evenkeel::gateway {
namespace {

const peers::Fingerprint print{"org/m", 4096, "vllm", "fp8", "", "qwen3", "", ""};

RouterFacts facts() {
  RouterFacts facts;
  facts.self = {"thor", "ab12", 17};
  RouterFacts::Served& served = facts.served.emplace_back();
  served.model = {ModelId{1}, "org/m", {"cortex", "main"}, print, true, 1700000000000, 5};
  served.lane.workers = 1;
  served.lane.routable = true;
  served.lane.slots = 2;
  served.lane.in_flight = 2;
  served.lane.foreign_requests = 1;
  served.rates = {{1, 18.18}, {2, 50.71}};
  served.load = PeerLoad{{17, 3, 3, 1}, 2, {}};
  return facts;
}

bool has(const std::string& page, std::string_view part) { return page.find(part) != std::string::npos; }

TEST(StatusPage, IsReadBackByTheReaderOfOtherRouters) {
  const auto own = engines::read_router_status(status_page(facts()));
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_TRUE(own->evenkeel);
  EXPECT_EQ(own->name, "thor");
  EXPECT_EQ(own->instance, "ab12");
  ASSERT_EQ(own->models.size(), 1U);
  const peers::Status& status = own->models[0].status;
  EXPECT_EQ(own->models[0].backend, "cortex");
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.capacity, "2");
  EXPECT_EQ(status.measured_at, 1700000000000);
  EXPECT_EQ(status.fingerprint, print);
  ASSERT_TRUE(status.news);
  EXPECT_EQ(status.news->active, 3);
  EXPECT_EQ(status.news->yours, 1);
  ASSERT_EQ(status.rates.size(), 2U);
  EXPECT_EQ(status.rates[1].rate, 50.71);
  EXPECT_EQ(status.rates_at, 1700000000000);
}

TEST(StatusPage, IsReadByGatewaysOfTheLobesKindToo) {
  auto page = engines::read_router_status(status_page(facts()), true);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_FALSE(page->evenkeel);
  EXPECT_EQ(page->models[0].status.running, 2) << "as many as it serves at once";
  EXPECT_EQ(page->models[0].status.waiting, 1);
  EXPECT_EQ(page->models[0].status.capacity, "2");
  ReplicaFacts all;
  all.here = facts();
  ASSERT_TRUE(engines::read_router_capabilities(capabilities_page(all), *page));
  EXPECT_EQ(page->models[0].status.fingerprint, print);
}

TEST(StatusPage, W7WhatIsNotPublishedIsAbsentAndNeverOne) {
  for (const bool published : {true, false}) {
    RouterFacts quiet = facts();
    quiet.publishes_capacity = published;
    quiet.served[0].model.slots_known = !published;
    const std::string page = status_page(quiet);
    EXPECT_FALSE(has(page, "\"capacity\"")) << page;
    EXPECT_FALSE(has(page, "\"slots\"")) << page;
  }
}

TEST(StatusPage, F8ABusyHostIsShownAndShedsNothing) {
  RouterFacts busy = facts();
  busy.pressure = PressureWords{"busy", false, "default", 18.9, 71.5};
  const std::string page = status_page(busy);
  EXPECT_TRUE(has(page, R"("pressure":{"mode":"busy","shed":false,"reason":"default","swap_used_percent":1.89E1)"))
      << page;
  const auto read = engines::read_router_status(page);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->models[0].status.ready);
  EXPECT_TRUE(read->models[0].status.busy);
}

TEST(StatusPage, ABoxThatTakesNothingOnSaysSo) {
  RouterFacts shedding = facts();
  shedding.sheds = true;
  const auto own = engines::read_router_status(status_page(shedding));
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->models[0].status.ready);
}

TEST(CapabilitiesPage, HasARoleForEachAliasAndARowForEachReplica) {
  ReplicaFacts all;
  all.here = facts();
  all.origins = {"http://spark:30000"};
  PeerBoard::Row row;
  row.model = ModelId{1};
  row.served = "org/m";
  row.listed = true;
  row.fingerprint = print;
  row.fingerprint.quantization = "int4";
  row.share.why_not = "quantization differs: fp8 here, int4 there";
  row.capacity = "many";
  all.rows = {row};
  all.aliases = {{"cortex", "main"}};
  const std::string page = capabilities_page(all);
  EXPECT_TRUE(has(page, R"("roles":{"cortex":{"role":"cortex","model":"org/m")")) << page;
  EXPECT_TRUE(has(page, R"("main":{"role":"main","model":"org/m")")) << page;
  EXPECT_TRUE(has(page, R"("origin":"thor","local":true,"ready":true)")) << page;
  EXPECT_TRUE(has(page, R"("compatible":false,"reason":"quantization differs: fp8 here, int4 there")")) << page;
  EXPECT_TRUE(has(page, R"("capacity":"many")")) << page;
  EXPECT_FALSE(has(page, "proxied")) << page;
}

TEST(CapabilitiesPage, OfAModelThatPeersAloneServeIsReadyWhereOneIs) {
  ReplicaFacts all;
  all.origins = {"http://a:1", "http://b:1"};
  PeerBoard::Row gone;
  gone.model = ModelId{2};
  gone.served = "n";
  gone.listed = true;
  gone.share.why_not = "does not answer";
  PeerBoard::Row here = gone;
  here.peer = PeerNumber{1};
  here.share.why_not.clear();
  here.share.usable = here.ready = true;
  here.fingerprint.max_model_len = 8192;
  all.rows = {gone, here};
  all.aliases = {{}, {}};
  const std::string page = capabilities_page(all);
  EXPECT_TRUE(has(page, R"("roles":{"n":{"role":"n","model":"n")")) << page;
  EXPECT_TRUE(has(page, R"("context":8192)")) << page;
  EXPECT_TRUE(has(page, R"("ready":true,"loaded":true,"proxied":true)")) << page;
  all.rows = {gone};
  EXPECT_TRUE(has(capabilities_page(all), R"("ready":false,"loaded":false,"proxied":true)"));
}

}  // namespace
}  // namespace evenkeel::gateway
