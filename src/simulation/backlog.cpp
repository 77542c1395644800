#include "simulation/backlog.hpp"

#include <fmt/format.h>

#include "simulation/words.hpp"

namespace evenkeel::simulation {

Result<void> Backlog::check(Time now, std::size_t waiting, std::uint64_t released, std::uint64_t ended) {
  const Arrivals& arrivals = setting_.arrivals;
  if (arrivals.kind == Arrivals::Kind::saturated) return {};
  if (waiting < arrivals.most_waiting / 2) {
    half_.reset();
    return {};
  }
  if (!half_) half_ = Mark{now, released, ended};
  if (waiting <= arrivals.most_waiting) return {};

  const double seconds = to_seconds(now - half_->at);
  const auto pace = [&](std::uint64_t until, std::uint64_t from) {
    return seconds > 0 ? fmt::format("{:.4g} a second", static_cast<double>(until - from) / seconds)
                       : fmt::format("{} at once", until - from);
  };
  const bool poisson = arrivals.kind == Arrivals::Kind::poisson;
  return failure(fmt::format(
      "--arrivals {}: more than {} wait (--max-waiting) after {:.4g} s, as {} come and {} end at {} of {}. Allowed: "
      "a lower rate (--utilisation 0.9 finds one{}), more --workers or --slots, fewer --{}, a larger --max-waiting",
      poisson ? fmt::format("poisson:{:g}", arrivals.rate_per_s) : "trace",
      counted(static_cast<std::int64_t>(arrivals.most_waiting), "request"), to_seconds(now.time_since_epoch()),
      pace(released, half_->released), pace(ended, half_->ended),
      counted(static_cast<std::int64_t>(setting_.workers), "worker"), counted(setting_.engine.slots, "slot"),
      poisson ? "" : ", --time-scale sets one", poisson ? "requests" : "max-requests"));
}

}  // namespace evenkeel::simulation
