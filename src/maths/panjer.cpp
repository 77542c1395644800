#include "maths/panjer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace evenkeel::maths {

namespace {

/// Equal masses at the points from..to.
struct Run {
  std::size_t from;
  std::size_t to;
  double height;
};

std::vector<Run> runs_of(const Lattice& severity) {
  std::vector<Run> runs;
  for (std::size_t j = 0; j < severity.mass.size(); ++j) {
    const double height = severity.mass[j];
    if (height == 0) continue;
    if (!runs.empty() && runs.back().to + 1 == j && runs.back().height == height) {
      runs.back().to = j;
    } else {
      runs.push_back({j, j, height});
    }
  }
  return runs;
}

/// What a window of masses sums to: the masses g_k, and (s - k) g_k for the s that is asked.
struct WindowSums {
  double zeroth = 0;
  double distance = 0;
};

/// Sums over windows of up to `widest` masses in O(1). Prefix sums begin anew, and count their index anew, in every
/// block: prefix sums over everything would lose, in the difference of two of them, what the recursion then multiplies
/// from generation to generation (1e-10 of the mass at a mean count of 1500).
class BlockSums {
 public:
  explicit BlockSums(std::size_t most) : bits_(static_cast<int>(std::bit_width(std::max<std::size_t>(most, 2) - 1))) {}

  void push(double g) {
    const std::size_t k = sums_.size();
    const auto offset = static_cast<double>(k & ((std::size_t{1} << bits_) - 1));
    const Prefix before = offset == 0 ? Prefix{} : sums_.back();
    sums_.push_back({before.zeroth + g, before.first + offset * g});
  }

  /// Over the masses low..high, at most `widest` of them, so in one block or two that are neighbours.
  [[nodiscard]] WindowSums window(std::size_t low, std::size_t high, std::size_t s) const {
    const std::size_t base = (low >> bits_) << bits_;
    const std::size_t next = base + (std::size_t{1} << bits_);
    const Prefix before = low == base ? Prefix{} : sums_[low - 1];
    Prefix sum = sums_[std::min(high, next - 1)];
    sum = {sum.zeroth - before.zeroth, sum.first - before.first};
    double distance = static_cast<double>(s - base) * sum.zeroth - sum.first;
    if (high >= next) {
      sum.zeroth += sums_[high].zeroth;
      distance += static_cast<double>(s - next) * sums_[high].zeroth - sums_[high].first;
    }
    return {sum.zeroth, distance};
  }

  void scale(double factor) {
    for (Prefix& sum : sums_) sum = {sum.zeroth * factor, sum.first * factor};
  }

 private:
  struct Prefix {
    double zeroth = 0;
    double first = 0;
  };
  int bits_;  ///< a block has 2^bits_ masses
  std::vector<Prefix> sums_;
};

std::size_t widest(const std::vector<Run>& runs) {
  std::size_t most = 1;
  for (const Run& run : runs) most = std::max(most, run.to - run.from + 1);
  return most;
}

/// The recursion on masses divided by exp(log_scale).
class Recursion {
 public:
  Recursion(const CountLaw& count, const Lattice& severity)
      : a_(count.panjer_a()), b_(count.panjer_b()), runs_(runs_of(severity)), sums_(widest(runs_)) {
    const double at_zero = severity.mass.empty() ? 0 : severity.mass[0];
    divisor_ = 1 - a_ * at_zero;
    std::erase_if(runs_, [](const Run& run) { return run.to == 0; });
    if (!runs_.empty() && runs_[0].from == 0) runs_[0].from = 1;
    log_scale_ = count.log_pgf(at_zero);
    scale_ = std::exp(log_scale_);
    push(1);
  }

  void step() {
    const std::size_t s = g_.size();
    const double per_index = b_ / static_cast<double>(s);
    double sum = 0;
    for (const Run& run : runs_) {
      if (run.from > s) break;
      const std::size_t high = s - run.from;
      if (run.from == run.to) {
        sum += run.height * (a_ + per_index * static_cast<double>(run.from)) * g_[high];
        continue;
      }
      const WindowSums window = sums_.window(s - std::min(run.to, s), high, s);
      sum += run.height * (a_ * window.zeroth + per_index * window.distance);
    }
    push(std::max(0.0, sum / divisor_));
  }

  /// Mass so far.
  [[nodiscard]] double below() const { return below_ * scale_; }
  [[nodiscard]] std::size_t size() const { return g_.size(); }

  std::vector<double> take() {
    for (double& g : g_) g *= scale_;
    return std::move(g_);
  }

 private:
  void push(double g) {
    g_.push_back(g);
    sums_.push(g);
    below_ += g;
    if (below_ > 0x1p500) rescale();
  }

  /// What becomes 0 here is less than 1e-300 of what is there now.
  void rescale() {
    for (double& g : g_) g *= 0x1p-500;
    sums_.scale(0x1p-500);
    below_ *= 0x1p-500;
    log_scale_ += 500 * std::log(2.0);
    scale_ = std::exp(log_scale_);
  }

  double a_;
  double b_;
  std::vector<Run> runs_;
  BlockSums sums_;
  double divisor_ = 1;
  double log_scale_ = 0;
  double scale_ = 1;
  double below_ = 0;
  std::vector<double> g_;
};

}  // namespace

std::size_t run_count(const Lattice& severity) { return runs_of(severity).size(); }

Result<Lattice> compound_by_recursion(const CountLaw& count, const Lattice& severity, double level,
                                      std::size_t most_cells) {
  Recursion recursion(count, severity);
  while (recursion.below() < level) {
    if (recursion.size() >= most_cells) {
      return failure(
          fmt::format("the recursion did not reach level {} within {} cells of {}", level, most_cells, severity.step));
    }
    recursion.step();
  }
  recursion.step();
  recursion.step();
  Lattice law(severity.step);
  law.mass = recursion.take();
  return law;
}

}  // namespace evenkeel::maths
