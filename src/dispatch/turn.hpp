#pragma once

#include <mutex>

#include "dispatch/dispatcher.hpp"

namespace evenkeel::dispatch {

/// One input being worked off: holds the lock, knows the time, keeps the tape, measures itself.
class Dispatcher::Turn {
 public:
  Turn(Dispatcher& owner, const Ask& asked) : owner_(owner), lock_(owner.mutex_), now(owner.clock_.now()) {
    if (owner.tape_ != nullptr) owner.tape_->begin(asked, now);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (owner_.tape_ != nullptr) owner_.tape_->finish();
    owner_.held_.note(owner_.clock_.now() - now);
  }

 private:
  Dispatcher& owner_;
  const std::lock_guard<std::mutex> lock_;

 public:
  const Time now;
};

}  // namespace evenkeel::dispatch
