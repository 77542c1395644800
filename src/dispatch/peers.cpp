// Boxes of other routers among the workers: what this box keeps from itself, and what a placement says of its route.
#include <algorithm>

#include "dispatch/turn.hpp"
#include "peers/reason.hpp"

namespace evenkeel::dispatch {

void Dispatcher::set_shedding(bool sheds) {
  Verdicts verdicts;
  {
    const Turn turn(*this, ask::SetShedding{sheds});
    sheds_ = sheds;
    note_routability(turn.now);
    step_models(nullptr, turn.now, verdicts);
  }
  tell(verdicts);
}

bool Dispatcher::sheds() const {
  const std::lock_guard lock(mutex_);
  return sheds_;
}

bool Dispatcher::shed_away(const Submission& submission) const {
  return sheds_ && !submission.never_shed &&
         any_routable(submission.model, submission.excluded, {true, !submission.from_peer}) &&
         !any_routable(submission);
}

std::string_view Dispatcher::route_of(const Submission& submission, const WorkerRecord& to) const {
  peers::Placed placed;
  placed.here = !to.spec.peer;
  placed.came_from_peer = submission.from_peer;
  placed.shedding = sheds_ && !submission.never_shed;
  placed.hosts = false;
  bool peers = submission.from_peer;
  for (const auto& record : roster_.records()) {
    if (!record->serves(submission.model)) continue;
    peers = peers || record->spec.peer;
    if (!record->takes_requests()) continue;
    if (record->spec.peer) {
      placed.peers_usable += submission.excluded.contains(record->id) ? 0 : 1;
      continue;
    }
    placed.hosts = true;
    placed.here_before += books_.load(record->books).in_flight;
  }
  return peers ? peers::to_string(peers::reason_of(placed)) : std::string_view();
}

}  // namespace evenkeel::dispatch
