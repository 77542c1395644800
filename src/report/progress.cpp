#include "report/progress.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/numbers.hpp"

namespace evenkeel::report {

Progress::Progress(const Clock& clock, Sink sink, bool terminal, std::string label, std::uint64_t total)
    : clock_(clock),
      sink_(std::move(sink)),
      terminal_(terminal),
      label_(std::move(label)),
      total_(total),
      start_(clock.now()),
      next_(start_ + (terminal ? Duration{} : line_every)) {}

std::string Progress::line(std::uint64_t done, std::string_view detail) const {
  constexpr std::uint64_t cells = 24;
  std::string out = label_;
  const Duration passed = clock_.now() - start_;
  if (total_ > 0) {
    const std::uint64_t shown = std::min(done, total_);
    const double share = static_cast<double>(shown) / static_cast<double>(total_);
    if (terminal_) {
      const auto full = static_cast<std::size_t>(share * cells);
      out += fmt::format(" [{}{}]", std::string(full, '#'), std::string(cells - full, '.'));
    }
    out += fmt::format(" {:3.0f} % {}/{}", std::min(share * 100, done < total_ ? 99.0 : 100.0), done, total_);
    if (done > 0 && done < total_ && passed > Duration{}) {
      out += ", " + short_duration(from_seconds(to_seconds(passed) * (1 - share) / share)) + " left";
    }
  } else {
    out += fmt::format(" {}", done);
  }
  out += ", " + short_duration(passed);
  if (!detail.empty()) out += fmt::format(", {}", detail);
  return out;
}

void Progress::draw(std::uint64_t done, std::string_view detail) {
  // Erase to the end of the line: the text before may have been longer.
  sink_(terminal_ ? "\r" + line(done, detail) + "\x1b[K" : line(done, detail) + "\n");
}

void Progress::update(std::uint64_t done, std::string_view detail) {
  const Time now = clock_.now();
  if (finished_ || now < next_) return;
  next_ = now + (terminal_ ? redraw_every : line_every);
  draw(done, detail);
}

void Progress::finish(std::uint64_t done, std::string_view detail) {
  if (finished_) return;
  finished_ = true;
  draw(done, detail);
  if (terminal_) sink_("\n");
}

}  // namespace evenkeel::report
