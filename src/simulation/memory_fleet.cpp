#include "simulation/memory_fleet.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "maths/poisson_draw.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int most_draws = 100'000;

MemoryNode stationary_node(const planning::FleetPlan& plan, const planning::Group& group, double immortal_probability,
                           std::uint64_t& next_id, Random& random) {
  MemoryNode node(group.capacity.front());
  for (std::uint32_t m = 0; m < plan.models.size(); ++m) {
    const planning::Model& model = plan.models[m];
    const int residents = maths::draw_poisson(group.rate_per_node_s[m] * model.duration.mean(), random);
    for (int i = 0; i < residents; ++i) {
      const planning::Resident drawn = model.duration.draw_resident(random);
      node.admit(
          {next_id++, -drawn.age_s, drawn.left_s, model.footprints.front(), random.unit() < immortal_probability, m});
    }
  }
  return node;
}

}  // namespace

std::vector<MemoryNode> stationary_nodes(const planning::FleetPlan& plan, const planning::Group& group,
                                         StartRange range, double immortal_probability, Random& random) {
  std::vector<MemoryNode> nodes;
  std::uint64_t next_id = 1;
  for (std::int64_t i = 0; i < group.nodes; ++i) {
    int draws = 0;
    while (true) {
      MemoryNode node = stationary_node(plan, group, immortal_probability, next_id, random);
      const double headroom = node.headroom_gb();
      if (headroom >= range.low_gb && headroom <= range.high_gb) {
        nodes.push_back(std::move(node));
        break;
      }
      if (++draws == most_draws) {
        throw std::invalid_argument(
            fmt::format("no node of {} starts with {} to {} GB of headroom", group.name, range.low_gb, range.high_gb));
      }
    }
  }
  return nodes;
}

HeavyTask draw_task(const planning::Model& model, std::uint32_t index, std::uint64_t id, double t,
                    double immortal_probability, Random& random) {
  const double length = model.duration.draw(random);
  return {id, t, t + length, model.footprints.front(), random.unit() < immortal_probability, index};
}

}  // namespace evenkeel::simulation
