#include "forecast/survival.hpp"

#include <algorithm>

namespace evenkeel::forecast {

double Survival::remaining_at(std::int64_t age, std::int64_t horizon) const {
  return curve_.remaining(std::max<std::int64_t>(age, 0), std::max<std::int64_t>(horizon, 1));
}

double Survival::survival_at(std::int64_t age, std::int64_t tokens) const {
  return tokens <= 0 ? 1 : curve_.survival(std::max<std::int64_t>(age, 0), tokens);
}

std::uint64_t Survival::period() const { return std::min<std::uint64_t>(64, 1 + ends_ / 16); }

std::int64_t Survival::told(RequestId request) const {
  const auto before = [](const Told& entry, std::uint64_t id) { return entry.request < id; };
  const auto found = std::lower_bound(told_.begin(), told_.end(), request.value, before);
  return found != told_.end() && found->request == request.value ? found->age : 0;
}

void Survival::finished(const fleet::LeaseSummary& summary, Time /*now*/) {
  const std::int64_t length = summary.output_tokens.value();
  if (length <= 0) return;
  curve_.lived(told(summary.request), length);
  if (summary.outcome != fleet::Outcome::completed) return;
  curve_.ended(length);
  if (++ends_ - ends_at_rebuild_ < period()) return;
  curve_.rebuild();
  ends_at_rebuild_ = ends_;
}

void Survival::running(const fleet::FleetView& fleet, Time /*now*/) {
  if (watched_ && ends_ - ends_at_look_ < period()) return;
  next_.clear();
  for (const auto& worker : fleet.workers) {
    for (const auto& request : worker.running) {
      next_.push_back({request.id.value, std::max<std::int64_t>(request.generated, 0)});
    }
  }
  std::sort(next_.begin(), next_.end(), [](const Told& a, const Told& b) { return a.request < b.request; });
  auto old = told_.begin();
  for (Told& now : next_) {
    while (old != told_.end() && old->request < now.request) ++old;
    const bool known = old != told_.end() && old->request == now.request;
    // What is in service at the very first look has survived to be seen: its earlier life says nothing.
    if (known || watched_) curve_.lived(known ? old->age : 0, now.age);
    if (known) now.age = std::max(now.age, old->age);  // a worker's own count may take tokens back
  }
  told_.swap(next_);
  watched_ = true;
  ends_at_look_ = ends_;
  curve_.rebuild();
}

}  // namespace evenkeel::forecast
