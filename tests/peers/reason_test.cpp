// The closed list of reasons, each from the situation that it stands for.
#include "peers/reason.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace evenkeel::peers {
namespace {

TEST(RouteReason, AreSixWithTheNamesThatOtherGatewaysKnow) {
  std::set<std::string_view> names;
  for (const RouteReason reason : all_route_reasons) names.insert(to_string(reason));
  EXPECT_EQ(names, (std::set<std::string_view>{"none", "local-idle", "sole-ready", "peer-less-loaded",
                                               "local-busy-forwarded", "affinity"}));
}

TEST(RouteReason, SaysWhatWasTheCase) {
  Placed idle_here;
  idle_here.here = true;
  idle_here.peers_usable = 1;
  EXPECT_EQ(reason_of(idle_here), RouteReason::local_idle);

  Placed working_here = idle_here;
  working_here.here_before = 1;
  EXPECT_EQ(reason_of(working_here), RouteReason::sole_ready);

  Placed at_peer;
  at_peer.peers_usable = 1;
  EXPECT_EQ(reason_of(at_peer), RouteReason::peer_less_loaded);

  Placed shedding = at_peer;
  shedding.shedding = true;
  EXPECT_EQ(reason_of(shedding), RouteReason::local_busy_forwarded);

  Placed only_peer = at_peer;
  only_peer.hosts = false;
  EXPECT_EQ(reason_of(only_peer), RouteReason::sole_ready);
  only_peer.peers_usable = 2;
  EXPECT_EQ(reason_of(only_peer), RouteReason::peer_less_loaded);
  only_peer.shedding = true;
  EXPECT_EQ(reason_of(only_peer), RouteReason::peer_less_loaded) << "a box without an engine sheds nothing of its own";

  Placed from_peer = idle_here;
  from_peer.came_from_peer = true;
  EXPECT_EQ(reason_of(from_peer), RouteReason::sole_ready);

  Placed at_home = at_peer;
  at_home.by_affinity = true;
  EXPECT_EQ(reason_of(at_home), RouteReason::affinity);

  Placed nowhere = at_home;
  nowhere.somewhere = false;
  EXPECT_EQ(reason_of(nowhere), RouteReason::none);
}

}  // namespace
}  // namespace evenkeel::peers
