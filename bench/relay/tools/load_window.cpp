#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "load.hpp"
#include "socket.hpp"

namespace relay_bench {
namespace {

void print_mark(const char* name) {
  std::printf("{\"mark\":\"%s\"}\n", name);
  std::fflush(stdout);
}

}  // namespace

void Window::look(std::uint64_t now) {
  if (start_ns_ == 0 || end_ns_ != 0) return;
  if (begin_ns_ == 0) {
    if (now < start_ns_ + warmup_ns_) return;
    begin_ns_ = now;
    print_mark("begin");
  } else if (now >= begin_ns_ + length_ns_) {
    end_ns_ = now;
    print_mark("end");
  }
}

void Samples::add(std::uint64_t nanoseconds) {
  if (values_.size() >= limit_) fail("more samples than planned");
  values_.push_back(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(nanoseconds, std::numeric_limits<std::uint32_t>::max())));
}

double Samples::quantile_us(double q) {
  if (values_.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values_.size())));
  const auto at = values_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values_.begin(), at, values_.end());
  return static_cast<double>(*at) / 1e3;
}

}  // namespace relay_bench
