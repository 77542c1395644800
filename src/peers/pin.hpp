#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "peers/fingerprint.hpp"

namespace evenkeel::peers {

/// Ties what a peer says it has measured to what it was measured with: once something else is served there, the value
/// is put away until a later measurement comes. It comes back neither with the old model nor by being said again.
template <class Value>
class Pin {
 public:
  /// Whether what is said counts now. `measured_at` is the peer's own stamp of the measurement, larger is later;
  /// nothing: it gives none, and then only another value is a new measurement. A stamp where there was none is one,
  /// too.
  [[nodiscard]] bool admit(const Value& said, std::optional<std::int64_t> measured_at, const Fingerprint& now) {
    if (!pinned_ || measured_anew(said, measured_at)) {
      pinned_ = Pinned{said, measured_at, now, false};
      return true;
    }
    pinned_->put_away = pinned_->put_away || definitely_changed(pinned_->with, now);
    return !pinned_->put_away;
  }
  /// What the value that was last admitted was measured with; something must have been.
  [[nodiscard]] const Fingerprint& measured_with() const { return pinned_->with; }

 private:
  struct Pinned {
    Value value;
    std::optional<std::int64_t> measured_at;
    Fingerprint with;
    bool put_away = false;
  };
  [[nodiscard]] bool measured_anew(const Value& said, std::optional<std::int64_t> measured_at) const {
    if (!measured_at) return said != pinned_->value;
    return !pinned_->measured_at || *measured_at > *pinned_->measured_at;
  }

  std::optional<Pinned> pinned_;
};

}  // namespace evenkeel::peers
