#include "maths/panjer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace evenkeel::maths {

namespace {

/// Converting a signed number is one instruction.
double real(std::size_t index) { return static_cast<double>(static_cast<std::int64_t>(index)); }

}  // namespace

std::vector<CompoundRecursion::Run> CompoundRecursion::runs_of(const Lattice& severity) {
  std::vector<Run> runs;
  for (std::size_t j = 0; j < severity.mass.size(); ++j) {
    const double height = severity.mass[j];
    if (height == 0) continue;
    if (j > 1 && !runs.empty() && runs.back().to + 1 == j && runs.back().height == height) {
      runs.back().to = j;
    } else {
      runs.push_back({j, j, height});
    }
  }
  return runs;
}

CompoundRecursion::CompoundRecursion(const CountLaw& count, const Lattice& severity)
    : a_(count.panjer_a()), b_(count.panjer_b()) {
  const double at_zero = severity.mass.empty() ? 0 : severity.mass[0];
  for (const Run& run : runs_of(severity)) {
    if (run.to > 0) (run.from == run.to ? singles_ : runs_).push_back(run);
  }
  inverse_ = 1 / (1 - a_ * at_zero);
  log_scale_ = count.log_pgf(at_zero);
  scale_ = std::exp(log_scale_);
  std::size_t widest = 2;
  for (const Run& run : runs_) widest = std::max(widest, run.to - run.from + 1);
  block_ = std::bit_ceil(widest);
  // A window reaches back over the severity, and asks for the last sum of the block that it begins in.
  const std::size_t ring = std::bit_ceil(severity.mass.size() + block_ + 2);
  mask_ = ring - 1;
  g_.resize(ring);
  sums_.resize(ring);
  first_ = at_ = ring;
}

double CompoundRecursion::next() {
  if (at_ == first_) return push(1);
  const double per_index = b_ / real(at_ - first_);
  double sum = 0;
  for (const Run& run : singles_) {
    sum += run.height * (a_ + per_index * real(run.from)) * g_[(at_ - run.from) & mask_];
  }
  for (const Run& run : runs_) sum += window_term(run, per_index);
  return push(std::max(0.0, sum * inverse_));
}

/// The sum over j = from..to of height * (a + b j / s) g[s - j]. Prefix sums begin anew, and count their index anew, in
/// every block: sums over everything would lose, in the difference of two of them, what the recursion then multiplies
/// from generation to generation (1e-10 of the mass at a mean count of 1500).
double CompoundRecursion::window_term(const Run& run, double per_index) const {
  const std::size_t high = at_ - run.from;
  const std::size_t low = at_ - run.to;
  const std::size_t base = low & ~(block_ - 1);
  const std::size_t following = base + block_;
  const Prefix before = low == base ? Prefix{} : sums_[(low - 1) & mask_];
  const Prefix until = sums_[std::min(high, following - 1) & mask_];
  double zeroth = until.zeroth - before.zeroth;
  double distance = real(at_ - base) * zeroth - (until.first - before.first);  // of j g[s - j]
  if (high >= following) {
    const Prefix& rest = sums_[high & mask_];
    zeroth += rest.zeroth;
    distance += real(at_ - following) * rest.zeroth - rest.first;
  }
  return run.height * (a_ * zeroth + per_index * distance);
}

double CompoundRecursion::push(double g) {
  const std::size_t offset = at_ & (block_ - 1);
  const Prefix before = offset == 0 ? Prefix{} : sums_[(at_ - 1) & mask_];
  g_[at_ & mask_] = g;
  sums_[at_ & mask_] = {before.zeroth + g, before.first + real(offset) * g};
  ++at_;
  const double mass = g * scale_;
  if (g > 0x1p400) rescale();
  return mass;
}

/// What becomes 0 here is less than 1e-300 of what is there now.
void CompoundRecursion::rescale() {
  for (double& g : g_) g *= 0x1p-400;
  for (Prefix& sum : sums_) sum = {sum.zeroth * 0x1p-400, sum.first * 0x1p-400};
  log_scale_ += 400 * std::log(2.0);
  scale_ = std::exp(log_scale_);
}

std::size_t run_count(const Lattice& severity) { return CompoundRecursion::runs_of(severity).size(); }

Result<double> quantile_by_recursion(const CountLaw& count, const Lattice& severity, double level, bool points,
                                     std::size_t most) {
  CompoundRecursion recursion(count, severity);
  double below = 0;
  for (std::size_t s = 0; s < most; ++s) {
    const double mass = recursion.next();
    const bool reached = mass > 0 && below + mass >= (points ? level * (1 - 1e-14) : level);
    if (reached) {
      const double into = s == 0 || points ? 0 : (level - below) / mass - 0.5;
      return severity.step * (static_cast<double>(s) + into);
    }
    below += mass;
  }
  return failure(
      fmt::format("the recursion did not reach level {} within {} points of {}", level, most, severity.step));
}

}  // namespace evenkeel::maths
