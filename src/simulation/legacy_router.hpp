#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "simulation/peer_world.hpp"

namespace evenkeel::simulation {

/// The rules of lobes-cli's gateway in two of its versions, to compare with: a request is bound when it arrives, by the
/// requests that a box was last seen to have, which is up to a probe interval old, and by what was sent there since. A
/// box is full at as many requests as it has slots; if all are, the request queues at the engine of the box that it
/// came to.
enum class LegacyRules : std::uint8_t {
  v0_67_0,  ///< probed + own dispatches since
  v0_67_1,  ///< max(probed - those of ours that ended since, those of ours that have not) + own dispatches since
};

class LegacyRouter final : public BoxRouter {
 public:
  /// `phase`: when the own engine is first looked at; peers are at the start.
  LegacyRouter(PeerWorld& world, std::size_t box, LegacyRules rules, Duration phase);

  void submit(std::size_t request) override;
  void arrive(std::size_t request, std::size_t from) override;
  void token(std::size_t) override {}
  void finished(std::size_t request) override;
  void cancel(std::size_t request) override;
  void tick() override {}
  [[nodiscard]] bool empty() const override { return open_.empty(); }

 private:
  struct Seen {
    double requests = 0;
    Time at{};  ///< when the answer came
  };
  struct Dispatch {
    std::size_t box = 0;
    Time begun{};
    bool counted = false;
  };
  struct Ended {
    std::size_t box = 0;
    Time begun{};
    Time ended{};
  };

  void look_here();
  void probe(std::size_t peer, std::vector<Seen> pass);
  [[nodiscard]] double active(std::size_t box) const;
  [[nodiscard]] std::size_t choose(bool& placed) const;
  void end(std::size_t request);

  PeerWorld& world_;
  const std::size_t box_;
  const LegacyRules rules_;
  std::vector<Seen> seen_;  ///< by box
  std::unordered_map<std::size_t, Dispatch> open_;
  std::deque<Ended> ended_;
};

void set_legacy_routers(PeerWorld& world, LegacyRules rules, std::uint64_t seed);

}  // namespace evenkeel::simulation
