#include "gateway/peer_board.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "config/load.hpp"

namespace evenkeel::gateway {

namespace {

peers::PeerOptions options_of(const config::PeerOptionSettings& settings) {
  peers::PeerOptions options;
  options.probe_every = settings.probe_interval;
  options.probe_timeout = settings.probe_timeout;
  options.slack = settings.slack;
  options.fresh = settings.fresh;
  options.lost_probes = settings.lost_probes;
  options.ahead_over = settings.ahead_over;
  options.clamp = settings.capacity_clamp;
  options.uncalibrated_slots = settings.uncalibrated_slots;
  return options;
}

/// As fast for a guess that is nearly right as for any other of its length.
bool same_key(std::string_view given, std::string_view wanted) {
  if (given.size() != wanted.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i] ^ wanted[i]));
  }
  return difference == 0;
}

/// An IPv4 address as a dual-stack listener shows it, as itself.
std::string_view plain(std::string_view host) {
  constexpr std::string_view mapped = "::ffff:";
  return host.starts_with(mapped) ? host.substr(mapped.size()) : host;
}

bool loopback(std::string_view host) { return host == "::1" || host.starts_with("127."); }

bool equal(std::span<const fleet::RatePoint> a, std::span<const fleet::RatePoint> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.level == y.level && x.rate == y.rate; });
}

}  // namespace

PeerBoard::PeerBoard(const config::ServeSettings& settings, dispatch::Dispatcher& dispatcher, Breakers& breakers,
                     const Clock& clock, SelfIdentity self)
    : settings_(settings),
      dispatcher_(dispatcher),
      breakers_(breakers),
      clock_(clock),
      self_(std::move(self)),
      options_(options_of(settings.peer_options)) {
  for (const config::PeerSetting& peer : settings.peers) {
    Box& box = boxes_.emplace_back();
    if (const auto key = config::accept_key(peer); key && !key->empty()) box.accept = "Bearer " + *key;
    if (peer.kind != "auto") box.evenkeel = peer.kind == "evenkeel";
    box.next_probe = clock.now();
  }
}

bool PeerBoard::is_evenkeel(PeerNumber peer) const {
  const std::lock_guard lock(mutex_);
  return boxes_[peer.value].evenkeel.value_or(true);
}

// --- who asks ----------------------------------------------------------------------------------------------

std::optional<PeerNumber> PeerBoard::identify(std::string_view host, const http::Head& head,
                                              std::string_view head_bytes) const {
  const auto ours = head.find(head_bytes, peer_field::hop);
  const auto lobes = head.find(head_bytes, peer_field::lobes_hop);
  if (!ours && !lobes) return std::nullopt;
  const auto authorization = head.find(head_bytes, "Authorization");
  const std::string_view from = plain(host);
  std::optional<PeerNumber> first;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box& box = boxes_[i];
    const bool kind_fits = box.evenkeel ? (*box.evenkeel ? ours.has_value() : lobes.has_value()) : true;
    const bool address_fits = std::any_of(box.hosts.begin(), box.hosts.end(), [&](const std::string& known) {
      return plain(known) == from || (loopback(known) && loopback(from));
    });
    if (!kind_fits || !address_fits || !box.barred.empty()) continue;
    if (!box.accept.empty() && !same_key(authorization.value_or(""), box.accept)) continue;
    const PeerNumber number{static_cast<std::uint32_t>(i)};
    const bool named =
        ours && !ours->empty() && (*ours == box.name || *ours == box.instance || *ours == settings_.peers[i].name);
    if (named) return number;
    if (!first) first = number;
  }
  return first;
}

// --- what peers send here ----------------------------------------------------------------------------------

PeerBoard::Guests& PeerBoard::guests(ModelId model) {
  return guests_.try_emplace(model, boxes_.size(), self_.epoch).first->second;
}

PeerBoard::TakenOn::TakenOn(PeerBoard& board, PeerNumber from, ModelId model)
    : board_(&board), from_(from), model_(model) {
  const std::lock_guard lock(board.mutex_);
  board.guests(model).origins.began(from.value);
}

PeerBoard::TakenOn& PeerBoard::TakenOn::operator=(TakenOn&& other) noexcept {
  if (this == &other) return *this;
  end();
  board_ = std::exchange(other.board_, nullptr);
  from_ = other.from_;
  model_ = other.model_;
  waits_ = std::exchange(other.waits_, false);
  return *this;
}

bool PeerBoard::TakenOn::may_wait() {
  if (board_ == nullptr || waits_) return false;
  const std::int64_t slots = board_->dispatcher_.lane(model_).slots;
  const std::lock_guard lock(board_->mutex_);
  Guests& guests = board_->guests(model_);
  waits_ = guests.waiting < slots;
  if (waits_) ++guests.waiting;
  return waits_;
}

void PeerBoard::TakenOn::placed() {
  if (!std::exchange(waits_, false)) return;
  const std::lock_guard lock(board_->mutex_);
  --board_->guests(model_).waiting;
}

void PeerBoard::TakenOn::end() {
  if (board_ == nullptr) return;
  placed();
  PeerBoard& board = *std::exchange(board_, nullptr);
  const std::lock_guard lock(board.mutex_);
  board.guests(model_).origins.ended(from_.value);
}

PeerLoad PeerBoard::load_for(PeerNumber peer, ModelId model, std::optional<Duration> took) {
  PeerLoad load;
  load.took = took;
  const std::int64_t slots = dispatcher_.lane(model).slots;
  const std::lock_guard lock(mutex_);
  const bool known = std::any_of(hosted_->begin(), hosted_->end(),
                                 [&](const HostedModel& one) { return one.model == model && one.slots_known; });
  if (settings_.peer_options.capacities && known && slots > 0) load.slots = slots;
  Guests& here = guests(model);
  const std::int64_t mine = here.origins.active(peer.value);
  // Counted under one lock, so that a later number is of a later instant. What is taken on and has no lease yet may
  // only be among the peer's own.
  const std::int64_t total = std::max(mine, dispatcher_.in_flight_here(model) + here.waiting);
  load.news = here.origins.news(peer.value, total);
  here.told_full[peer.value] = total >= slots;
  return load;
}

void PeerBoard::released(ModelId model) {
  std::function<void()> ring;
  {
    const std::lock_guard lock(mutex_);
    const auto here = guests_.find(model);
    if (here == guests_.end()) return;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (!here->second.told_full[i] || !boxes_[i].evenkeel.value_or(false)) continue;
      here->second.told_full[i] = false;
      releases_.push_back({PeerNumber{static_cast<std::uint32_t>(i)}, model});
      ring = ring_;
    }
  }
  if (ring) ring();
}

void PeerBoard::set_alarm(std::function<void()> ring) {
  const std::lock_guard lock(mutex_);
  ring_ = std::move(ring);
}

std::vector<PeerBoard::Release> PeerBoard::take_releases() {
  const std::lock_guard lock(mutex_);
  return std::exchange(releases_, {});
}

// --- what is sent to peers ---------------------------------------------------------------------------------

template <class Change>
void PeerBoard::change(WorkerId worker, Change what) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(worker);
    if (at == places_.end()) return;
    what(at->second);
    const peers::PeerShare now = share_of(at->second, clock_.now());
    if (now == at->second.share) return;
  }
  refresh(worker);
}

PeerBoard::Dispatch::Dispatch(PeerBoard& board, WorkerId worker)
    : board_(&board), worker_(worker), since_(board.clock_.now()) {
  board.change(worker, [&](Place& place) {
    const auto there = static_cast<double>(place.peer.open()) + place.share.foreign;
    ahead_ = there >= static_cast<double>(place.share.slots);
    place.peer.dispatched(since_);
    ++place.sent;
  });
}

PeerBoard::Dispatch& PeerBoard::Dispatch::operator=(Dispatch&& other) noexcept {
  if (this == &other) return *this;
  end();
  board_ = std::exchange(other.board_, nullptr);
  worker_ = other.worker_;
  since_ = other.since_;
  there_and_back_ = other.there_and_back_;
  ahead_ = other.ahead_;
  return *this;
}

void PeerBoard::Dispatch::heard(const PeerLoad& load) {
  if (board_ == nullptr) return;
  const Time now = board_->clock_.now();
  board_->change(worker_, [&](Place& place) { place.peer.heard(now, load.news); });
  if (load.took) there_and_back_ = now - since_ - *load.took;
}

void PeerBoard::Dispatch::answered() {
  if (board_ == nullptr || !there_and_back_) return;
  const Duration here = board_->clock_.now() - since_;
  board_->change(worker_, [&](Place& place) { place.peer.took(here, here - *there_and_back_); });
}

void PeerBoard::Dispatch::sent_back(const std::optional<PeerLoad>& load) {
  if (board_ == nullptr) return;
  PeerBoard& board = *std::exchange(board_, nullptr);
  const Time now = board.clock_.now();
  board.change(worker_, [&](Place& place) {
    if (load) place.peer.heard(now, load->news);
    place.peer.sent_back(now);
    place.peer.ended(since_, now);
    ++place.sent_back;
  });
}

void PeerBoard::Dispatch::declined() {
  if (board_ == nullptr) return;
  board_->change(worker_, [&](Place& place) { place.peer.declined(board_->clock_.now()); });
}

void PeerBoard::Dispatch::end() {
  if (board_ == nullptr) return;
  PeerBoard& board = *std::exchange(board_, nullptr);
  const Time now = board.clock_.now();
  board.change(worker_, [&](Place& place) { place.peer.ended(since_, now); });
}

void PeerBoard::pushed(PeerNumber peer, ModelId model, const PeerLoad& load) {
  if (const auto at = worker(peer, model)) {
    change(*at, [&](Place& place) { place.peer.heard(clock_.now(), load.news); });
  }
}

// --- shares ------------------------------------------------------------------------------------------------

peers::PeerShare PeerBoard::share_of(const Place& place, Time now) const {
  peers::PeerShare share = place.peer.share(now);
  const std::string& barred = boxes_[place.number.value].barred;
  if (!barred.empty()) {
    share = {};
    share.why_not = barred;
  } else if (!place.listed) {
    share = {};
    share.why_not = "does not serve the model";
  }
  return share;
}

void PeerBoard::refresh(WorkerId worker) {
  const std::lock_guard telling(telling_);
  peers::PeerShare share;
  std::vector<fleet::RatePoint> rates;
  bool moved = false;
  bool new_rates = false;
  {
    const std::lock_guard lock(mutex_);
    Place& place = places_.at(worker);
    const Time now = clock_.now();
    share = share_of(place, now);
    moved = !place.told || share != place.share;
    place.share = share;
    place.told = true;
    const auto believed = place.peer.rates(now);
    new_rates = !equal(believed, place.rates);
    if (new_rates) rates = place.rates = {believed.begin(), believed.end()};
  }
  if (new_rates) dispatcher_.set_rate(worker, rates);
  if (!moved) return;
  if (share.usable) dispatcher_.set_share(worker, {share.slots, share.max_in_flight, share.foreign});
  breakers_.set_usable(worker, share.usable);
}

void PeerBoard::tick() {
  std::vector<WorkerId> moved;
  {
    const std::lock_guard lock(mutex_);
    const Time now = clock_.now();
    for (const auto& [worker, place] : places_) {
      const bool same = place.told && share_of(place, now) == place.share && equal(place.peer.rates(now), place.rates);
      if (!same) moved.push_back(worker);
    }
  }
  for (const WorkerId worker : moved) refresh(worker);

  std::vector<ModelId> asked;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [model, here] : guests_) {
      const auto& full = here.told_full;
      if (std::find(full.begin(), full.end(), true) != full.end()) asked.push_back(model);
    }
  }
  for (const ModelId model : asked) {
    const dispatch::Lane lane = dispatcher_.lane(model);
    const auto waiting = [&] {
      const std::lock_guard lock(mutex_);
      return guests(model).waiting;
    }();
    if (lane.in_flight + waiting < lane.slots) released(model);
  }
}

}  // namespace evenkeel::gateway
