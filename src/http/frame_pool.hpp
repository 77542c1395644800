#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace evenkeel::http {

/// Recycles coroutine frames per thread, so that a request in steady state allocates none.
/// Frames are freed on the thread that made them: a fiber lives and dies on its loop.
/// Under address sanitizer every frame is its own allocation, so that a stale handle is caught.
class FramePool {
 public:
  static void* take(std::size_t size) {
#ifndef __SANITIZE_ADDRESS__
    const std::size_t slot = (size + granule - 1) / granule;
    if (slot < slots) {
      FramePool& pool = mine();
      if (Free* head = pool.free_[slot]; head != nullptr) {
        pool.free_[slot] = head->next;
        return head;
      }
      return ::operator new(slot* granule);
    }
#endif
    return ::operator new(size);
  }

  static void give(void* frame, std::size_t size) noexcept {
#ifndef __SANITIZE_ADDRESS__
    const std::size_t slot = (size + granule - 1) / granule;
    if (slot < slots) {
      FramePool& pool = mine();
      pool.free_[slot] = new (frame) Free{pool.free_[slot]};
      return;
    }
#endif
    ::operator delete(frame, size);
  }

  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool() {
    for (Free* head : free_) {
      while (head != nullptr) ::operator delete(std::exchange(head, head->next));
    }
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t granule = 64;
  static constexpr std::size_t slots = 64;  // frames up to 4 KiB

  static FramePool& mine() {
    thread_local FramePool pool;
    return pool;
  }

  std::array<Free*, slots> free_{};
};

}  // namespace evenkeel::http
