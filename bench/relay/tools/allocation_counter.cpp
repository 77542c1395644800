// Preloaded into a proxy: counts its calls of the allocator in a shared file, so that another process can
// read the count at any time. operator new is counted through malloc. The file (8 bytes, named by the
// environment variable ALLOCATION_COUNT_FILE) adds up over all threads and forked children.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

// glibc's own entry points, so that nothing has to be looked up (and allocated) first.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<std::uint64_t> before_mapping{0};
std::atomic<std::uint64_t>* counter = &before_mapping;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);

void count() { counter->fetch_add(1, std::memory_order_relaxed); }

[[gnu::constructor]] void map_counter() {
  const char* path = std::getenv("ALLOCATION_COUNT_FILE");
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(nullptr, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) counter = static_cast<std::atomic<std::uint64_t>*>(page);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}

void* calloc(std::size_t count_of, std::size_t size) {
  count();
  return __libc_calloc(count_of, size);
}

void* realloc(void* old, std::size_t size) {
  count();
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  count();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? 12 /* ENOMEM */ : 0;
}

}  // extern "C"
