// The board's side towards the control thread: probes and what they bring, and what is shown of peers.
#include <algorithm>
#include <utility>

#include "gateway/peer_board.hpp"

namespace evenkeel::gateway {

namespace {

constexpr Duration until_met = std::chrono::milliseconds(500);  // between probes of who has never answered

}  // namespace

void PeerBoard::set_hosts(PeerNumber peer, std::vector<std::string> hosts) {
  const std::lock_guard lock(mutex_);
  boxes_[peer.value].hosts = std::move(hosts);
}

void PeerBoard::set_identity(PeerNumber peer, std::string name, std::string instance, bool evenkeel) {
  const std::lock_guard lock(mutex_);
  Box& box = boxes_[peer.value];
  box.name = std::move(name);
  box.instance = std::move(instance);
  if (setting(peer).kind == "auto") box.evenkeel = evenkeel;
}

WorkerId PeerBoard::add(PeerNumber peer, ModelId model, std::string served) {
  dispatch::WorkerSpec spec;
  spec.name = setting(peer).name;
  spec.models = {model};
  spec.max_in_flight = 0;
  spec.peer = true;
  const WorkerId worker = dispatcher_.add_worker(std::move(spec));
  breakers_.add(worker);
  const std::lock_guard lock(mutex_);
  places_.try_emplace(worker, Place{peer, model, std::move(served), peers::Peer({}, options_)});
  return worker;
}

std::optional<WorkerId> PeerBoard::worker(PeerNumber peer, ModelId model) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [worker, place] : places_) {
    if (place.number == peer && place.model == model) return worker;
  }
  return std::nullopt;
}

void PeerBoard::compare_with(WorkerId worker, std::optional<peers::Fingerprint> ours) {
  const std::lock_guard lock(mutex_);
  if (const auto at = places_.find(worker); at != places_.end()) at->second.peer.compare_with(std::move(ours));
}

void PeerBoard::set_hosted(std::vector<HostedModel> hosted) {
  auto all = std::make_shared<const std::vector<HostedModel>>(std::move(hosted));
  const std::lock_guard lock(mutex_);
  hosted_ = std::move(all);
}

std::shared_ptr<const std::vector<HostedModel>> PeerBoard::hosted() const {
  const std::lock_guard lock(mutex_);
  return hosted_;
}

bool PeerBoard::probe_due(PeerNumber peer) const {
  const bool waits = dispatcher_.pool().waiting > 0;
  const std::lock_guard lock(mutex_);
  const Box& box = boxes_[peer.value];
  const Time now = clock_.now();
  if (box.probing) return false;
  if (now >= box.next_probe) return true;
  return std::any_of(places_.begin(), places_.end(), [&](const auto& entry) {
    return entry.second.number == peer && entry.second.peer.probe_due(now, waits);
  });
}

void PeerBoard::probe_sent(PeerNumber peer) {
  const std::lock_guard lock(mutex_);
  const Time now = clock_.now();
  Box& box = boxes_[peer.value];
  box.probing = true;
  box.next_probe = now + options_.probe_every;
  for (auto& [worker, place] : places_) {
    if (place.number == peer) place.peer.probe_sent(now);
  }
}

void PeerBoard::ask_again() {
  const std::lock_guard lock(mutex_);
  for (Box& box : boxes_) box.next_probe = std::min(box.next_probe, clock_.now());
}

void PeerBoard::probe_lost(PeerNumber peer, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    Box& box = boxes_[peer.value];
    box.probing = false;
    box.last_error = std::move(why);
    ++box.lost;
    ++box.lost_in_a_row;
    // Boxes are started one after the other: who has not been met yet is looked for more often.
    if (!box.answered) box.next_probe = std::min(box.next_probe, clock_.now() + until_met);
    for (auto& [worker, place] : places_) {
      if (place.number == peer) place.peer.probe_lost();
    }
  }
  tick();
}

void PeerBoard::probe_answered(PeerNumber peer, std::span<const Said> said) {
  {
    const std::lock_guard lock(mutex_);
    const Time now = clock_.now();
    Box& box = boxes_[peer.value];
    box.probing = false;
    box.last_error.clear();
    box.lost_in_a_row = 0;
    box.answered = now;
    for (auto& [worker, place] : places_) {
      if (place.number != peer) continue;
      const auto about =
          std::find_if(said.begin(), said.end(), [&](const Said& one) { return one.model == place.model; });
      place.probed = true;
      place.listed = about != said.end();
      place.last = place.listed ? about->status : peers::Status{};
      if (!settings_.peer_options.capacities) place.last.capacity.reset();
      place.peer.probe_answered(now, place.last);
    }
  }
  tick();
}

void PeerBoard::bar(PeerNumber peer, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    boxes_[peer.value].barred = std::move(why);
  }
  tick();
}

std::vector<PeerBoard::Row> PeerBoard::rows() const {
  std::vector<Row> rows;
  const std::lock_guard lock(mutex_);
  const Time now = clock_.now();
  for (const auto& [worker, place] : places_) {
    Row row;
    row.peer = place.number;
    row.model = place.model;
    row.worker = worker;
    row.served = place.served;
    row.share = share_of(place, now);
    row.listed = place.listed && place.probed;
    row.ready = place.last.ready;
    row.open = place.peer.open();
    row.forward_delay = place.peer.forward_delay();
    row.capacity_note = place.peer.capacity_note();
    row.capacity = place.last.capacity;
    row.running = place.last.running;
    row.waiting = place.last.waiting;
    row.fingerprint = place.last.fingerprint;
    row.rates = place.rates;
    row.rates_note = place.peer.rates_note();
    row.sent = place.sent;
    row.sent_back = place.sent_back;
    if (const auto here = guests_.find(place.model); here != guests_.end()) {
      row.taken_on = here->second.origins.active(place.number.value);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PeerBoard::BoxRow> PeerBoard::boxes() const {
  std::vector<BoxRow> all;
  const std::lock_guard lock(mutex_);
  const Time now = clock_.now();
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box& box = boxes_[i];
    BoxRow row;
    row.peer = PeerNumber{static_cast<std::uint32_t>(i)};
    row.name = box.name;
    row.instance = box.instance;
    row.evenkeel = box.evenkeel.value_or(true);
    row.up = box.answered.has_value() && box.lost_in_a_row < options_.lost_probes && box.barred.empty();
    if (box.answered) row.answered = now - *box.answered;
    row.lost = box.lost;
    row.last_error = box.barred.empty() ? box.last_error : box.barred;
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace evenkeel::gateway
