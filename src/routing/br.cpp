#include "routing/br.hpp"

#include <algorithm>

namespace evenkeel::routing {

Br::Br(Options options, Departures departures)
    : options_(options), departures_(std::move(departures)), score_(options.gamma, options.beta) {}

void Br::plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView& fleet, Time now, Random& random,
              std::vector<fleet::Placement>& placements) {
  waiting_ = waiting;
  placements_ = &placements;
  const auto begin = static_cast<std::ptrdiff_t>(placements.size());
  slots_.begin(waiting, fleet, random);
  departures_.look(fleet, now);
  projection_.build(fleet, departures_.window(),
                    [&](const fleet::RunningView& request) { return departures_.leaves_at(request); });
  if (options_.beta == 0) score_.set_beta(static_cast<double>(fleet.workers.size()));
  fill_plenty();
  fill_scarce();
  std::sort(placements.begin() + begin, placements.end(),
            [](const fleet::Placement& a, const fleet::Placement& b) { return a.request < b.request; });
}

void Br::fill_plenty() {
  while (slots_.total() > options_.greedy && slots_.any()) {
    const std::uint32_t worker = freest_then_lightest();
    look_at(worker, whole_pool);
    if (window_.empty()) {
      slots_.close(worker);
      continue;
    }
    admit(worker, search_.single(sizes_, score_), "greedy");
  }
}

void Br::fill_scarce() {
  while (slots_.any()) {
    const std::uint32_t worker = freest_then_slackest();
    look_at(worker, options_.window);
    if (window_.empty()) {
      slots_.close(worker);
      continue;
    }
    const std::int64_t limit = slots_.free(worker);
    const SubsetSearch::Best best = options_.subset == Subset::enumerate ? search_.enumerate(sizes_, limit, score_)
                                                                         : search_.reach(sizes_, limit, score_);
    if (best.score > 0) {
      admit(worker, best, "subset");
    } else {
      admit(worker, search_.single(sizes_, score_), "forced");
    }
  }
}

std::uint32_t Br::freest_then_lightest() const {
  std::uint32_t best = slots_.workers().front();
  for (const std::uint32_t worker : slots_.workers()) {
    const std::int64_t more = slots_.free(worker) - slots_.free(best);
    if (more > 0 || (more == 0 && projection_.row(worker)[0] < projection_.row(best)[0])) best = worker;
  }
  return best;
}

std::uint32_t Br::freest_then_slackest() const {
  std::uint32_t best = slots_.workers().front();
  std::int64_t best_slack = projection_.slack(best);
  for (const std::uint32_t worker : slots_.workers().subspan(1)) {
    const std::int64_t more = slots_.free(worker) - slots_.free(best);
    if (more < 0) continue;
    const std::int64_t slack = projection_.slack(worker);
    if (more == 0 && slack <= best_slack) continue;
    best = worker;
    best_slack = slack;
  }
  return best;
}

void Br::look_at(std::uint32_t worker, std::size_t window) {
  slots_.first_for(worker, window, window_);
  sizes_.clear();
  for (const std::uint32_t request : window_) sizes_.push_back(slots_.prompt(request));
  score_.face(projection_, worker);
}

void Br::admit(std::uint32_t worker, const SubsetSearch::Best& best, std::string_view reason) {
  for (const std::uint32_t member : best.members) {
    const std::uint32_t request = window_[member];
    const auto considered = static_cast<std::uint32_t>(waiting_[request].candidates.size());
    placements_->push_back({request, worker, reason, best.score, considered});
    projection_.add(worker, sizes_[member]);
    slots_.admit(request, worker);
  }
}

}  // namespace evenkeel::routing
