#include "pressure/judge.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace evenkeel::pressure {
namespace {

constexpr double swap_release = 0.9;
constexpr double evidence_release = 0.5;

bool over(const Result<double>& figure, double threshold) { return figure && *figure > threshold; }

std::string used_words(const Result<double>& swap) {
  return swap ? fmt::format("swap is {:.1f} % used", *swap)
              : fmt::format("how much of the swap is used is not known ({})", swap.error().message);
}

std::string compared(double value, double threshold) {
  return fmt::format("{} {:g}", value > threshold ? "over" : "not over", threshold);
}

}  // namespace

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::warm: return "warm";
    case Mode::busy: return "busy";
    case Mode::unknown: return "unknown";
  }
  return "";
}

Figures Meter::take(const Reading& reading) {
  Figures figures;
  figures.swap_used_percent = reading.swap.map(&Swap::used_percent);
  figures.memory_stall_percent = reading.memory_stalls.map([](const Stalls& stalls) { return stalls.some.avg10; });

  if (!reading.cpu) {
    iowait_ = tl::unexpected(reading.cpu.error());
    cpu_.reset();
  } else {
    const CpuTimes before = cpu_.value_or(CpuTimes{});
    const CpuTimes now = *reading.cpu;
    if (now.total < before.total || now.iowait < before.iowait) {
      iowait_ = failure("a time of /proc/stat went back");  // proc(5): iowait may
    } else if (now.total > before.total) {
      iowait_ = 100 * static_cast<double>(now.iowait - before.iowait) / static_cast<double>(now.total - before.total);
      since_boot_ = !cpu_;
    }  // else no tick has passed since, and what was known of the last stretch still holds
    cpu_ = now;
  }
  figures.iowait_percent = iowait_;
  figures.iowait_since_boot = iowait_ && since_boot_;

  const auto per_second = [&](std::uint64_t SwapPages::*member) -> Result<double> {
    if (!reading.swap_pages) return tl::unexpected(reading.swap_pages.error());
    if (!pages_ || reading.at <= pages_->at) return failure("it takes two readings");
    const std::uint64_t before = pages_->counted.*member;
    const std::uint64_t now = *reading.swap_pages.*member;
    if (now < before) return failure("a counter of /proc/vmstat went back");
    return static_cast<double>(now - before) / to_seconds(reading.at - pages_->at);
  };
  figures.swap_ins_per_s = per_second(&SwapPages::in);
  figures.swap_outs_per_s = per_second(&SwapPages::out);
  pages_ = reading.swap_pages ? std::optional(Pages{reading.at, *reading.swap_pages}) : std::nullopt;
  return figures;
}

bool Judge::short_of_memory(const Figures& figures, double swap_part, double evidence_part) const {
  if (!over(figures.swap_used_percent, swap_part * options_.swap_percent)) return false;
  return options_.evidence == Evidence::swap ||
         over(figures.memory_stall_percent, evidence_part * options_.stall_percent) ||
         over(figures.swap_ins_per_s, evidence_part * options_.swap_ins_per_s);
}

std::string Judge::reason_of(const Figures& figures, bool fact) const {
  std::string reason = used_words(figures.swap_used_percent);
  if (figures.swap_used_percent) {
    fmt::format_to(std::back_inserter(reason), " ({})", compared(*figures.swap_used_percent, options_.swap_percent));
  }
  if (options_.evidence == Evidence::thrash && over(figures.swap_used_percent, swap_release * options_.swap_percent)) {
    const auto& stall = figures.memory_stall_percent;
    const auto& ins = figures.swap_ins_per_s;
    reason += stall ? fmt::format("; tasks waited for memory {:.1f} % of 10 s ({})", *stall,
                                  compared(*stall, options_.stall_percent))
                    : fmt::format("; how long tasks waited for memory is not known ({})", stall.error().message);
    reason += ins ? fmt::format("; {:.0f} pages a second came back from swap ({})", *ins,
                                compared(*ins, options_.swap_ins_per_s))
                  : fmt::format("; what comes back from swap is not known ({})", ins.error().message);
  }
  if (over(figures.iowait_percent, options_.iowait_percent)) {
    fmt::format_to(std::back_inserter(reason), "; iowait is {:.1f} %, which says nothing of memory",
                   *figures.iowait_percent);
  }
  if (shed_as_of_ && !fact) {
    fmt::format_to(std::back_inserter(reason), "; it sheds until that has lasted {:g} s", to_seconds(options_.hold));
  }
  return reason;
}

Verdict Judge::judge(const Figures& figures, Time now) {
  const bool fact =
      shed_as_of_ ? short_of_memory(figures, swap_release, evidence_release) : short_of_memory(figures, 1, 1);
  if (fact) shed_as_of_ = now;
  if (shed_as_of_ && now - *shed_as_of_ >= options_.hold && !fact) shed_as_of_.reset();

  Verdict verdict;
  const bool busy =
      over(figures.swap_used_percent, options_.swap_percent) || over(figures.iowait_percent, options_.iowait_percent);
  const bool known = figures.swap_used_percent && figures.iowait_percent;
  verdict.mode = busy ? Mode::busy : known ? Mode::warm : Mode::unknown;
  verdict.shed = shed_as_of_.has_value();
  verdict.reason = reason_of(figures, fact);
  return verdict;
}

}  // namespace evenkeel::pressure
