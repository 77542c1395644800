#include "gateway/pressure_watch.hpp"

#include <utility>

#include <spdlog/spdlog.h>

namespace evenkeel::gateway {
namespace {

pressure::Options options_of(const config::PressureSettings& settings) {
  pressure::Options options;
  options.swap_percent = settings.swap_percent;
  options.stall_percent = settings.stall_percent;
  options.swap_ins_per_s = settings.swap_ins;
  options.iowait_percent = settings.iowait_percent;
  options.evidence = settings.evidence == "swap" ? pressure::Evidence::swap : pressure::Evidence::thrash;
  options.hold = settings.hold;
  return options;
}

}  // namespace

PressureWatch::PressureWatch(const config::PressureSettings& settings, Tell tell)
    : settings_(settings), tell_(std::move(tell)), host_(settings.root), judge_(options_of(settings)) {}

void PressureWatch::tick(Time now) {
  if (next_ && now < *next_) return;
  next_ = now + settings_.interval;
  PressureLook look;
  look.reading = host_.read(now);
  look.figures = meter_.take(look.reading);
  look.verdict = judge_.judge(look.figures, now);
  look.shedding = settings_.mode == "shed" && look.verdict.shed;
  const bool turned = look.shedding != look_.shedding;  // nobody else writes it
  look.looks = look_.looks + 1;
  look.turns = look_.turns + (turned && look.shedding ? 1 : 0);
  if (turned && look.shedding) {
    spdlog::warn("this box is short of memory and takes nothing new on: {}", look.verdict.reason);
  } else if (turned) {
    spdlog::info("this box takes requests again: {}", look.verdict.reason);
  }
  const bool sheds = look.shedding;
  {
    const std::lock_guard lock(mutex_);
    look_ = std::move(look);
  }
  if (turned) tell_(sheds);
}

PressureLook PressureWatch::look() const {
  const std::lock_guard lock(mutex_);
  return look_;
}

}  // namespace evenkeel::gateway
