#pragma once

// The boxes that were measured, and what can be had of them, computed apart from the product: event by event, and by
// trying every division.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/peer_run.hpp"

namespace evenkeel::simulation::testing {

inline const Box thor{{18.18, 50.71}};
inline const Box spark{{49.24, 87.82}};
inline const Box slow_thor{{11.0, 21.5}};
inline const Box late_spark{{48.9, 88.1}};
inline constexpr std::size_t at_thor = 0;

/// Bursts of 111 tokens each that come to the slower box of the pair.
inline PeersSetting bursts(std::int64_t size, std::int64_t rounds = 1) {
  PeersSetting setting;
  setting.boxes = {thor, spark};
  setting.burst = size;
  setting.rounds = rounds;
  setting.entry = at_thor;
  return setting;
}

inline PeersResult run(const PeersSetting& setting, std::string_view policy = "late_tail") {
  auto result = run_peers(setting, policy);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result ? *result : PeersResult{};
}
inline PeerBurst one(const PeersSetting& setting, std::string_view policy = "late_tail") {
  return run(setting, policy).bursts.at(0);
}

/// Boxes under the rule of late binding, token progress kept for each request: a free slot anywhere takes the head,
/// that of the box with the highest rate a request first.
class Fluid {
 public:
  explicit Fluid(std::vector<Box> boxes) : boxes_(std::move(boxes)), left_(boxes_.size()) {}

  /// Seconds until `count` requests are done that wait for whichever slot.
  double late(std::int64_t count, double tokens) {
    std::int64_t waiting = count;
    double now = 0;
    for (;;) {
      while (waiting > 0 && start(tokens)) --waiting;
      const double step = next();
      if (step == never) return now;
      now += step;
      pass(step);
    }
  }
  /// Seconds until one box has done `count` requests by itself.
  static double alone(const Box& box, std::int64_t count, double tokens) {
    return count == 0 ? 0 : Fluid({box}).late(count, tokens);
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  [[nodiscard]] double speed(std::size_t box, std::size_t running) const {
    return boxes_[box].tokens_per_s[running - 1] / static_cast<double>(running);
  }
  bool start(double tokens) {
    std::size_t best = boxes_.size();
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      if (left_[box].size() >= boxes_[box].slots()) continue;
      if (best == boxes_.size() || speed(box, left_[box].size() + 1) > speed(best, left_[best].size() + 1)) best = box;
    }
    if (best == boxes_.size()) return false;
    left_[best].push_back(tokens);
    return true;
  }
  [[nodiscard]] double next() const {
    double first = never;
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      for (const double left : left_[box]) first = std::min(first, left / speed(box, left_[box].size()));
    }
    return first;
  }
  void pass(double seconds) {
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      auto& running = left_[box];
      if (running.empty()) continue;
      const double done = seconds * speed(box, running.size());
      for (double& left : running) left -= done;
      std::erase_if(running, [](double left) { return left < 1e-6; });
    }
  }

  std::vector<Box> boxes_;
  std::vector<std::vector<double>> left_;
};

/// Tokens a second of the best of all divisions, by trying each.
inline double best_of_all_divisions(const std::vector<Box>& boxes, std::int64_t count, double tokens) {
  struct Try {
    const std::vector<Box>& boxes;
    double tokens;
    double best = std::numeric_limits<double>::infinity();
    void from(std::size_t box, std::int64_t left, double so_far) {
      if (so_far >= best) return;
      if (box + 1 == boxes.size()) {
        best = std::min(best, std::max(so_far, Fluid::alone(boxes[box], left, tokens)));
        return;
      }
      for (std::int64_t here = 0; here <= left; ++here) {
        from(box + 1, left - here, std::max(so_far, Fluid::alone(boxes[box], here, tokens)));
      }
    }
  } attempt{boxes, tokens};
  attempt.from(0, count, 0);
  return static_cast<double>(count) * tokens / attempt.best;
}

}  // namespace evenkeel::simulation::testing
