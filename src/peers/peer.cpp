#include "peers/peer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evenkeel::peers {

std::int64_t Peer::slots(Time now) const {
  const std::int64_t said = capacity_.slots.value_or(options_.uncalibrated_slots);
  return now < believed_less_until_ ? std::min(said, served_when_denied_) : said;
}

void Peer::took(Duration here, Duration there) {
  denied_ = 0;
  if (there <= Duration(0) || here < there) return;  // clocks that do not agree
  alive();
  const double weight = 1.0 / static_cast<double>(std::min<std::int64_t>(8, ++took_));
  way_s_ += weight * (to_seconds(here - there) / 2 - way_s_);
  service_s_ += weight * (to_seconds(there) - service_s_);
}

void Peer::sent_back(Time now) {
  alive();
  if (news_.sequence > 0) {
    deny(now);
    return;  // its news said how full it is
  }
  foreign_ = std::max(foreign_, static_cast<double>(slots(now)));
  foreign_as_of_ = now;
}

void Peer::declined(Time now) {
  alive();
  ready_ = false;
  next_probe_ = std::min(next_probe_, now);
}

/// One may have been on its way while a slot was taken or released; several are not.
void Peer::deny(Time now) {
  constexpr int chance = 2;
  if (news_.active >= slots(now)) return;
  served_when_denied_ = std::max<std::int64_t>({1, news_.active, denied_ == 0 ? 0 : served_when_denied_});
  if (++denied_ > chance) believed_less_until_ = now + options_.probe_every;
}

bool Peer::probe_due(Time now, bool someone_waits) const {
  if (probing_since_) return false;
  if (now >= next_probe_) return true;
  const bool others_fill_it =
      foreign(now) > 0 && static_cast<double>(open()) + foreign(now) >= static_cast<double>(slots(now));
  return someone_waits && others_fill_it && now - foreign_as_of_ >= options_.fresh;
}

void Peer::probe_sent(Time now) {
  probing_since_ = now;
  next_probe_ = now + options_.probe_every;
}

void Peer::probe_lost() {
  probing_since_.reset();
  ++lost_;
}

void Peer::probe_answered(Time now, const Status& status) {
  const Time asked = probing_since_.value_or(now);
  probing_since_.reset();
  alive();
  seen_ = true;
  answered_ = now;
  ready_ = status.ready;
  busy_ = status.busy;
  theirs_ = status.fingerprint;
  compare_with(std::move(ours_));
  capacity_ = pin_.admit(read_capacity(status.capacity, options_.clamp), status.measured_at, status.fingerprint);
  rates_ = read_rates(status.rates, options_.clamp);
  if (!rates_.points.empty() && !rates_pin_.admit(rates_.points, status.rates_at, status.fingerprint)) {
    rates_ = {{}, "rates put away: they were measured with another model"};
  }
  if (status.news) return heard(now, *status.news);
  const double reported = status.running + status.waiting;
  if (!std::isfinite(reported) || status.running < 0 || status.waiting < 0) return;
  foreign_ = dispatches_.foreign(reported, asked);
  foreign_as_of_ = asked;
}

void Peer::compare_with(std::optional<Fingerprint> ours) {
  ours_ = std::move(ours);
  compatibility_ = ours_ ? compare(*ours_, theirs_) : Compatibility{true, {}};
}

void Peer::heard(Time now, const News& news) {
  alive();
  if (!news.possible() || !news.later_than(news_)) return;
  news_ = news;
  foreign_ = static_cast<double>(news.active - news.yours);
  foreign_as_of_ = now;
}

bool Peer::stale(Time said, Time now) const { return now - said > 2 * options_.probe_every + options_.probe_timeout; }

/// What is stale is unknown, and in nobody's way.
double Peer::foreign(Time now) const { return stale(foreign_as_of_, now) ? 0 : foreign_; }

std::span<const fleet::RatePoint> Peer::rates(Time now) const {
  if (!compatibility_.compatible || stale(answered_, now)) return {};
  return rates_.points;
}

PeerShare Peer::share(Time now) const {
  PeerShare share;
  if (!seen_) {
    share.why_not = "not probed yet";
  } else if (lost_ >= options_.lost_probes) {
    share.why_not = "does not answer";
  } else if (!compatibility_.compatible) {
    share.why_not = compatibility_.reason;
  } else if (!ready_) {
    share.why_not = "its engine is not ready";
  }
  if (!share.why_not.empty()) return share;
  share.usable = true;
  share.slots = slots(now);
  share.foreign = foreign(now);
  const std::int64_t ours = std::max<std::int64_t>(0, share.slots - std::llround(share.foreign));
  share.max_in_flight = ours + std::min(ours, slots_about_to_be_free(now));
  return share;
}

/// Of ours, by the mean of what they take: those that what is sent now would meet at their end, or wait for a way
/// longer.
std::int64_t Peer::slots_about_to_be_free(Time now) const {
  if (way_s_ <= options_.ahead_over * service_s_) return 0;
  const Time begun_before = now - from_seconds(service_s_ - way_s_);
  return dispatches_.open_since(begun_before);
}

}  // namespace evenkeel::peers
