#include "forecast/support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
std::uint64_t count = 0;
}

void* operator new(std::size_t size) {
  ++count;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++count;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace evenkeel::forecast::testing {
std::uint64_t allocations() { return count; }
}  // namespace evenkeel::forecast::testing
