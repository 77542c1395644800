#include "simulation/memory_node.hpp"

#include <algorithm>

namespace evenkeel::simulation {

void MemoryNode::note_lowest() { lowest_gb_ = std::min(lowest_gb_, headroom_gb()); }

void MemoryNode::residents_changed() {
  ++changes_;
  base_gb_ = 0;
  growth_ = 0;
  next_end_s_ = 1e300;
  for (const HeavyTask& each : residents_) {
    base_gb_ += each.held_gb(0);
    growth_ += each.footprint.growth_per_s;
    next_end_s_ = std::min(next_end_s_, each.end_s);
  }
}

void MemoryNode::advance(double t) {
  while (next_end_s_ <= t) {
    now_s_ = std::max(now_s_, next_end_s_);
    note_lowest();
    std::erase_if(residents_, [&](const HeavyTask& each) { return each.end_s <= now_s_; });
    residents_changed();
  }
  now_s_ = std::max(now_s_, t);
  note_lowest();
}

void MemoryNode::admit(const HeavyTask& task) {
  residents_.push_back(task);
  residents_changed();
  note_lowest();
}

bool MemoryNode::evict(std::uint64_t id) {
  const bool here = std::erase_if(residents_, [&](const HeavyTask& each) { return each.id == id; }) > 0;
  if (here) residents_changed();
  return here;
}

double MemoryNode::immortal_share() const {
  double immortal = 0;
  double used = 0;
  for (const HeavyTask& each : residents_) {
    const double held = each.held_gb(now_s_);
    used += held;
    if (each.immortal) immortal += held;
  }
  return used > 0 ? immortal / used : 0;
}

}  // namespace evenkeel::simulation
