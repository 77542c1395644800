#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "fleet/foreign_load.hpp"
#include "peers/capacity.hpp"
#include "peers/fingerprint.hpp"
#include "peers/news.hpp"
#include "peers/pin.hpp"
#include "peers/rates.hpp"

namespace evenkeel::peers {

struct PeerOptions {
  Duration probe_every = std::chrono::seconds(5);
  Duration probe_timeout = std::chrono::seconds(3);
  Duration slack = std::chrono::milliseconds(300);  ///< of the interval rule: at least how far a gauge lags
  /// Foreign load that keeps a request waiting is asked for again when it is older than this.
  Duration fresh = std::chrono::milliseconds(250);
  int lost_probes = 2;  ///< in a row, with no sign of life between them, until a peer is held for gone
  /// While one way takes more than this share of a request's service, one is sent ahead for each slot that is about to
  /// be free, so that the slot does not stand empty for two ways.
  double ahead_over = 0.05;
  std::int64_t clamp = default_capacity_clamp;
  std::int64_t uncalibrated_slots = 1;  ///< of a peer that does not say how many it has
};

/// What a probe brought.
struct Status {
  bool ready = false;  ///< its engine is well, and it takes requests on
  bool busy = false;   ///< its host is, as it says; shown, never a reason to pass it by
  Fingerprint fingerprint;
  std::optional<std::string> capacity;      ///< as it stands in the answer
  std::optional<std::int64_t> measured_at;  ///< the peer's stamp of when that was measured
  double running = 0;                       ///< requests by the gauges of its engine
  double waiting = 0;
  std::optional<News> news;              ///< if it is of our kind: then the gauges are not looked at
  std::vector<fleet::RatePoint> rates;   ///< what it does at each level, if it says so
  std::optional<std::int64_t> rates_at;  ///< the peer's stamp of when these were measured, or begun to be
};

/// What may be used of a peer now.
struct PeerShare {
  bool usable = false;
  std::string why_not;
  std::int64_t slots = 0;          ///< its own, clamped
  std::int64_t max_in_flight = 0;  ///< of ours: its slots less those of others, and what may be sent ahead
  double foreign = 0;              ///< requests of others there

  friend bool operator==(const PeerShare&, const PeerShare&) = default;
};

/// One other router as this one knows it, for one model. What is ours there is known first-hand and never read from a
/// report; what is others' is
///
///     from a peer of our kind:  active - yours, both counted there at one instant
///     from any other:           what its gauges show beyond ours, as of fleet::ForeignLoad
///
/// Pure; not thread-safe. The owner sends the probes and tells what came of them, each peer by itself, so that one that
/// hangs delays nobody else's.
class Peer {
 public:
  Peer(Fingerprint ours, PeerOptions options = {}) : ours_(std::move(ours)), options_(options) {}

  /// What it is compared with is another now. Nothing: it is itself what others are compared with.
  void compare_with(std::optional<Fingerprint> ours);

  // --- our own dispatches, whatever became of them ---
  void dispatched(Time now) { dispatches_.began(now); }
  /// The dispatch of that time has ended.
  void ended(Time dispatched, Time now) { dispatches_.ended(dispatched, now); }
  /// A request was answered there: seen from here it took `here`, by the peer's account `there`.
  void took(Duration here, Duration there);
  /// It answered, no matter what: it lives.
  void alive() { lost_ = 0; }
  /// It sent a dispatch of ours back as it had no slot; its news, if any, was heard before. Without news it counts as
  /// full until the next probe. If it does so again and again, serving none between, while by its own account it has
  /// slots left, it has no more than what it serves then: for as long as from one probe to the next.
  void sent_back(Time now);
  /// It refused a dispatch of ours as one that takes nothing on: it is left alone until a probe, due now, says
  /// otherwise.
  void declined(Time now);

  // --- what it says ---
  /// Whether a probe should be sent: one at a time, every so often, and at once when a request waits only because of
  /// what others are thought to have there, and that is not fresh.
  [[nodiscard]] bool probe_due(Time now, bool someone_waits) const;
  void probe_sent(Time now);
  void probe_answered(Time now, const Status& status);
  void probe_lost();
  void heard(Time now, const News& news);

  [[nodiscard]] PeerShare share(Time now) const;
  /// What it says it does at each level, while that was measured with what it serves now and is renewed with the
  /// probes; else nothing. Valid until the next answer of a probe.
  [[nodiscard]] std::span<const fleet::RatePoint> rates(Time now) const;
  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] std::int64_t open() const { return dispatches_.open(); }
  [[nodiscard]] const std::string& capacity_note() const { return capacity_.note; }
  [[nodiscard]] const std::string& rates_note() const { return rates_.note; }
  /// One way, by what requests took; 0 until some have.
  [[nodiscard]] Duration forward_delay() const { return from_seconds(way_s_); }

 private:
  [[nodiscard]] std::int64_t slots(Time now) const;
  [[nodiscard]] double foreign(Time now) const;
  [[nodiscard]] std::int64_t slots_about_to_be_free(Time now) const;
  void deny(Time now);
  /// Whether what was said then is too old to be believed: nobody has renewed it for two probes.
  [[nodiscard]] bool stale(Time said, Time now) const;

  std::optional<Fingerprint> ours_;
  PeerOptions options_;
  fleet::ForeignLoad dispatches_{options_.slack, options_.probe_timeout};  ///< ours

  Time next_probe_{};
  std::optional<Time> probing_since_;
  int lost_ = 0;
  bool seen_ = false;
  bool ready_ = false;
  Fingerprint theirs_;
  Compatibility compatibility_;
  CapacityPin pin_;
  Capacity capacity_;
  Pin<std::vector<fleet::RatePoint>> rates_pin_;
  PublishedRates rates_;
  Time answered_{};  ///< when a probe was last
  bool busy_ = false;
  News news_;
  double foreign_ = 0;
  Time foreign_as_of_{};

  int denied_ = 0;  ///< dispatches that came back in a row though it says that it has slots
  std::int64_t served_when_denied_ = 0;
  Time believed_less_until_{};

  double way_s_ = 0;      ///< mean of one way
  double service_s_ = 0;  ///< mean of what a request takes there
  std::int64_t took_ = 0;
};

}  // namespace evenkeel::peers
