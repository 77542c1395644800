#include "emulator/rank_balancer.hpp"

#include <algorithm>

namespace evenkeel::emulator {

RankBalancer::RankBalancer(RankBalancing rule, std::size_t ranks) : rule_(rule), counts_(ranks) {}

void RankBalancer::see(Time now, const engine::EngineModel& model) {
  const std::int64_t publications = now.time_since_epoch() / publication;
  if (publications == published_) return;
  published_ = publications;
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
    const engine::EngineGauges& gauges = model.gauges(rank);
    counts_[rank] = {gauges.waiting, gauges.running, gauges.kv_usage};
  }
}

double RankBalancer::score(std::size_t rank, std::int64_t own_in_flight) const {
  const Counts& counts = counts_[rank];
  const auto waiting = static_cast<double>(counts.waiting);
  const auto running = static_cast<double>(counts.running);
  if (rule_ == RankBalancing::old) return waiting * 4 + running;
  const double pressure = counts.waiting > 0 ? waiting * 6 * std::max(0.0, counts.kv_usage - 0.5) : 0.0;
  return std::max(static_cast<double>(own_in_flight), waiting + running) + pressure;
}

std::size_t RankBalancer::choose(std::span<const std::int64_t> own_in_flight) {
  const std::size_t ranks = counts_.size();
  const std::size_t start = next_;
  if (rule_ != RankBalancing::old) next_ = (next_ + 1) % ranks;
  if (rule_ == RankBalancing::round_robin) return start;
  std::size_t best = start;
  double least = score(start, own_in_flight[start]);
  for (std::size_t i = 1; i < ranks; ++i) {
    const std::size_t rank = (start + i) % ranks;
    const double next = score(rank, own_in_flight[rank]);
    if (next >= least) continue;
    least = next;
    best = rank;
  }
  ++counts_[best].waiting;
  return best;
}

}  // namespace evenkeel::emulator
