#include "maths/spectrum.hpp"

#include <fftw3.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

namespace evenkeel::maths {

namespace {

/// FFTW's planner is the only part of it that threads may not share.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

template <class Make>
void transform(Make make) {
  fftw_plan plan = nullptr;
  {
    const std::lock_guard lock(planner());
    plan = make();
  }
  fftw_execute(plan);
  const std::lock_guard lock(planner());
  fftw_destroy_plan(plan);
}

}  // namespace

Grid Grid::covering(double step, double low, double high) {
  Grid grid;
  grid.step = step;
  grid.negative = low < 0 ? static_cast<std::size_t>(std::ceil(-low / step)) : 0;
  grid.cells = std::bit_ceil(grid.negative + static_cast<std::size_t>(std::ceil(high / step)) + 2);
  grid.tilt = grid.negative == 0 ? 20 / static_cast<double>(grid.cells) : 0;
  return grid;
}

Spectrum::Spectrum(const Grid& grid, const Lattice& law) : grid_(grid), values_(grid.cells / 2 + 1) {
  std::vector<double> cells(grid.cells, 0.0);
  const auto size = static_cast<std::int64_t>(grid.cells);
  for (std::size_t i = 0; i < law.mass.size(); ++i) {
    const std::int64_t at = law.first + static_cast<std::int64_t>(i);
    const auto wrapped = static_cast<std::size_t>(((at % size) + size) % size);
    cells[wrapped] += law.mass[i] * std::exp(-grid.tilt * static_cast<double>(at));
  }
  auto* const out = reinterpret_cast<fftw_complex*>(values_.data());
  transform([&] { return fftw_plan_dft_r2c_1d(static_cast<int>(grid.cells), cells.data(), out, FFTW_ESTIMATE); });
}

Spectrum& Spectrum::compound(const CountLaw& count) {
  for (auto& value : values_) value = std::exp(count.log_pgf(value));
  return *this;
}

Spectrum& Spectrum::operator*=(const Spectrum& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] *= other.values_[i];
  return *this;
}

Spectrum& Spectrum::power(std::size_t n) {
  for (auto& value : values_) {
    std::complex<double> base = value;
    std::complex<double> result = 1;
    for (std::size_t rest = n; rest > 0; rest /= 2) {
      if (rest % 2 == 1) result *= base;
      base *= base;
    }
    value = result;
  }
  return *this;
}

Spectrum& Spectrum::mix(double weight, double other_weight, const Spectrum& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = weight * values_[i] + other_weight * other.values_[i];
  return *this;
}

Lattice Spectrum::law() const {
  std::vector<std::complex<double>> copy = values_;  // the transform destroys what it reads
  std::vector<double> cells(grid_.cells);
  auto* const in = reinterpret_cast<fftw_complex*>(copy.data());
  transform([&] { return fftw_plan_dft_c2r_1d(static_cast<int>(grid_.cells), in, cells.data(), FFTW_ESTIMATE); });
  Lattice law(grid_.step);
  law.first = -static_cast<std::int64_t>(grid_.negative);
  law.mass.resize(grid_.cells);
  for (std::size_t i = 0; i < grid_.cells; ++i) {
    const std::int64_t at = law.first + static_cast<std::int64_t>(i);
    const std::size_t from = at < 0 ? grid_.cells - static_cast<std::size_t>(-at) : static_cast<std::size_t>(at);
    const double mass = cells[from] / static_cast<double>(grid_.cells) * std::exp(grid_.tilt * static_cast<double>(at));
    law.mass[i] = std::max(0.0, mass);
  }
  return law;
}

Lattice compound_by_transform(const CountLaw& count, const Lattice& severity, double low, double high) {
  return Spectrum(Grid::covering(severity.step, low, high), severity).compound(count).law();
}

}  // namespace evenkeel::maths
