// In a file of its own: inlined next to its callers, a replaced operator new looks mismatched to the
// compiler. The nothrow form too, else a sanitizer's own would meet the operator delete from here.
#include "engine/support/counting_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> count{0};
}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace evenkeel::engine::testing {

std::int64_t allocations() { return count; }

}  // namespace evenkeel::engine::testing
