#pragma once

// Boxes with routers of the parts that serve, in virtual time.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/peer_router.hpp"
#include "simulation/support/boxes.hpp"

namespace evenkeel::simulation::testing {

/// Boxes with routers under late_tail, whose rates are known unless said otherwise.
struct Boxes {
  explicit Boxes(std::vector<Box> of, PeerRouterOptions options = known(), Network network = {})
      : world(std::move(of), network) {
    EXPECT_TRUE(set_peer_routers(world, "late_tail", 1, options).has_value());
  }
  static PeerRouterOptions known() {
    PeerRouterOptions options;
    options.mean_output = 111;
    return options;
  }
  [[nodiscard]] PeerRouter& router(std::size_t box) { return static_cast<PeerRouter&>(world.router(box)); }
  std::size_t burst(std::size_t box, int count, std::uint64_t client = 1) {
    const std::size_t first = world.requests().size();
    for (int i = 0; i < count; ++i) world.submit(box, 111, client);
    return first;
  }
  [[nodiscard]] const PeerRequest& request(std::size_t id) const { return world.requests()[id]; }
  [[nodiscard]] std::int64_t served_by(std::size_t box) const {
    return std::count_if(world.requests().begin(), world.requests().end(),
                         [&](const PeerRequest& request) { return request.ended && request.served == box; });
  }
  void expect_no_engine_overfilled_and_all_books_empty() {
    for (std::size_t box = 0; box < world.boxes().size(); ++box) {
      EXPECT_LE(world.most_running(box), static_cast<std::int64_t>(world.boxes()[box].slots())) << box;
      EXPECT_EQ(world.most_queued(box), 0) << box;
      EXPECT_TRUE(router(box).empty()) << box;
    }
    for (const PeerRequest& request : world.requests()) EXPECT_LE(request.hops, 1);
  }
  PeerWorld world;
};

}  // namespace evenkeel::simulation::testing
