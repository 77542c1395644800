#include "gateway/request_peers.hpp"

#include <gtest/gtest.h>

#include "gateway/head_writer.hpp"
#include "gateway/heads.hpp"
#include "http/loop.hpp"
#include "routing/policy.hpp"

namespace evenkeel::gateway {
namespace {

using namespace std::chrono_literals;

TEST(FieldsBetweenRouters, PassNeitherToAnEngineNorOn) {
  for (const std::string_view name :
       {"X-Evenkeel-Hop", "x-evenkeel-ahead", "X-EVENKEEL-LOAD", "X-Evenkeel-Sent-Back", "X-Evenkeel-Worker",
        "X-Lobes-Proxied", "x-lobes-override", "X-Lobes-Route-Reason"}) {
    EXPECT_TRUE(speaks_for_router(name)) << name;
  }
  for (const std::string_view name : {"X-Evenkeel-Heavy", "X-Lobes-Affinity", "X-Evenkeel", "X-Lobes", "X-Request-Id",
                                      "Evenkeel-Hop", "Accept", "X"}) {
    EXPECT_FALSE(speaks_for_router(name)) << name;
  }
}

/// A router with two peers, of our kind and not, and a request whose head it has read.
class HeadsBetweenRouters : public testing::Test {
 protected:
  HeadsBetweenRouters() {
    settings.peers.resize(2);
    settings.peers[0].url = "http://10.0.0.2:30000";
    settings.peers[0].name = "spark";
    settings.peers[1].url = "http://10.0.0.3:8000";
    settings.peers[1].name = "orin";
    settings.peers[1].kind = "lobes";
    board.emplace(settings, dispatcher, breakers, clock, SelfIdentity{"thor", "i-1", 7});
    parser.emplace(http::MessageParser::Direction::request);
    EXPECT_EQ(parser->parse_head(bytes), http::ParseStatus::done);
    request.head = &parser->head();
    request.head_bytes = std::string_view(bytes).substr(0, request.head->size);
    request.method = "POST";
    request.path = request.target = "/v1/chat/completions";
    request.id = "r-1";
    request.body = "{}";
    request.up_length = 2;
    request.arrived = loop.now();
    request.peers = std::make_unique<RequestPeers>(*board, loop);
    upstream.authority = "10.0.0.2:30000";
  }

  [[nodiscard]] std::string upstream_head() const {
    std::string out;
    append_upstream_head(out, request, upstream, settings);
    return out;
  }
  [[nodiscard]] std::string own_fields() const {
    std::string out;
    append_own_fields(out, request, settings);
    return out;
  }
  static bool has(const std::string& head, std::string_view part) { return head.find(part) != std::string::npos; }

  config::ServeSettings settings;
  ManualClock clock;
  http::EventLoop loop;
  dispatch::Dispatcher dispatcher{{}, std::move(*routing::make_policy("auto")), clock, 1};
  Breakers breakers{settings.health, dispatcher, clock};
  std::optional<PeerBoard> board;
  std::optional<http::MessageParser> parser;
  const std::string bytes =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: thor\r\nAuthorization: Bearer client\r\nX-Api-Key: client\r\n"
      "X-Evenkeel-Hop: forged\r\nX-Lobes-Proxied: forged\r\nX-Evenkeel-Heavy: true\r\nX-Other: kept\r\n"
      "Content-Length: 2\r\n\r\n";
  Request request;
  Upstream upstream;
};

TEST_F(HeadsBetweenRouters, AnEngineSeesNoMarkOfRouters) {
  const std::string head = upstream_head();
  EXPECT_FALSE(has(head, "Hop")) << head;
  EXPECT_FALSE(has(head, "Lobes")) << head;
  EXPECT_TRUE(has(head, "X-Other: kept\r\n")) << head;
}

TEST_F(HeadsBetweenRouters, APeerSeesOurMarkAndOurKeyAndNotTheClients) {
  settings.forward_authorization = true;
  upstream.authorization = "Bearer ours";
  upstream.peer = std::make_shared<PeerLink>(PeerLink{{0}, true, "http://10.0.0.2:30000", "X-Evenkeel-Hop: thor\r\n"});
  const std::string head = upstream_head();
  EXPECT_TRUE(has(head, "X-Evenkeel-Hop: thor\r\n")) << head;
  EXPECT_TRUE(has(head, "Authorization: Bearer ours\r\n")) << head;
  EXPECT_TRUE(has(head, "X-Evenkeel-Heavy: true\r\n")) << head;
  EXPECT_FALSE(has(head, "client")) << head;
  EXPECT_FALSE(has(head, "forged")) << head;
  EXPECT_FALSE(has(head, "X-Evenkeel-Ahead")) << "a slot was free: " << head;
}

TEST_F(HeadsBetweenRouters, APeerOfOurKindIsToldTheLoadAndAClientIsNot) {
  request.peers->placeable = true;
  EXPECT_EQ(own_fields(), "X-Request-Id: r-1\r\n");
  request.peers->from = PeerNumber{0};
  EXPECT_TRUE(has(own_fields(), "X-Evenkeel-Load: epoch=7;seq=1;active=0;yours=0;took-ms=")) << own_fields();
  request.peers->placeable = false;  // its model was never read
  EXPECT_EQ(own_fields(), "X-Request-Id: r-1\r\n");
}

TEST_F(HeadsBetweenRouters, ALobesGatewayIsToldInItsOwnWords) {
  request.peers->placeable = true;
  request.peers->from = PeerNumber{1};
  request.peers->from_evenkeel = false;
  EXPECT_EQ(own_fields(), "X-Request-Id: r-1\r\nX-Lobes-Served-By: thor\r\nX-Lobes-Route-Reason: sole-ready\r\n");
}

TEST_F(HeadsBetweenRouters, TheSixWordsStandInReceiptsWhereThereAreAny) {
  request.attempts = 1;
  request.worker = "spark";
  EXPECT_FALSE(has(own_fields(), "Route-Reason"));
  request.receipt.route = "peer-less-loaded";
  EXPECT_TRUE(has(own_fields(), "X-Evenkeel-Route-Reason: peer-less-loaded\r\n")) << own_fields();
  settings.receipts = false;
  EXPECT_FALSE(has(own_fields(), "Route-Reason"));
}

}  // namespace
}  // namespace evenkeel::gateway
