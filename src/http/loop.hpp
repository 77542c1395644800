#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "http/task.hpp"

struct epoll_event;

namespace evenkeel::http {

class EventLoop;
class Stream;

/// One logical thread of control on one loop: a connection, a probe, a timer task. It owns its root
/// coroutine, waits for "something happened" and looks at what did: the streams bound to it, its deadline and
/// whatever flags its owner set before wake(). A wait may end for no reason; waiters loop on their condition.
/// All members are for the loop's own thread.
class Fiber {
 public:
  explicit Fiber(EventLoop& loop) : loop_(loop) {}
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  [[nodiscard]] EventLoop& loop() const { return loop_; }

  /// Makes the current or next wait() return.
  void wake();

  struct Waiter {
    Fiber& fiber;
    [[nodiscard]] bool await_ready() const noexcept { return std::exchange(fiber.woken_, false); }
    void await_suspend(std::coroutine_handle<> self) const noexcept { fiber.waiting_ = self; }
    void await_resume() const noexcept { fiber.woken_ = false; }
  };
  [[nodiscard]] Waiter wait() { return Waiter{*this}; }

  /// The one deadline of this fiber; passing it wakes the fiber. Setting costs a store unless it moves earlier.
  void set_deadline(Time deadline);
  void clear_deadline() { deadline_ = never; }
  [[nodiscard]] Time deadline() const { return deadline_; }
  [[nodiscard]] bool deadline_passed() const;
  Task<void> sleep_until(Time when);

  static constexpr Time never = Time::max();

 private:
  friend class EventLoop;
  EventLoop& loop_;
  std::optional<Task<void>> root_;
  std::coroutine_handle<> waiting_;
  Time deadline_ = never;
  Time armed_ = never;       // when the loop's timer heap will look at this fiber next
  std::size_t heap_at_ = 0;  // its place in that heap, if armed
  std::size_t index_ = 0;
  bool woken_ = false;
  bool scheduled_ = false;
  bool done_ = false;
};

/// A single-threaded event loop over edge-triggered epoll: readiness, deadlines, fibers, and calls posted
/// from other threads. Everything but post() and stop() is for the thread in run().
class EventLoop final {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs until stop(), or until no fiber is left if `until_idle`.
  void run(bool until_idle = false);
  /// Thread-safe.
  void stop();
  /// Runs `call` on the loop's thread in its next turn. Thread-safe.
  void post(std::function<void()> call);

  /// Time at the start of this turn: cheap, and the same for all that happens in it.
  [[nodiscard]] Time now() const { return now_; }
  /// Reads the clock; for measuring inside a turn.
  Time refresh_now();

  /// Starts `body(fiber)` as a new fiber in this turn. `body` is a coroutine function called once; what it
  /// needs it takes as arguments, which live in its frame.
  template <class Body, class... Args>
  Fiber& spawn(Body&& body, Args&&... args) {
    Fiber& fiber = add_fiber();
    fiber.root_.emplace(std::forward<Body>(body)(fiber, std::forward<Args>(args)...));
    start(fiber);
    return fiber;
  }
  /// Wakes every fiber, to make them look at what changed for all.
  void wake_all();
  [[nodiscard]] std::size_t fibers() const { return fibers_.size(); }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

  /// For Stream and Listener only.
  void watch(int fd, Stream* stream);
  void move_watch(int fd, Stream* stream);
  void unwatch(int fd);

 private:
  friend class Fiber;
  struct Watch {
    Stream* stream = nullptr;
    std::uint32_t generation = 0;
  };
  Fiber& add_fiber();
  void start(Fiber& fiber);
  void arm(Fiber& fiber);
  void disarm(Fiber& fiber);
  void place(std::size_t at, Fiber* fiber);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void fire_timers();
  void wait_for_events();
  void run_posted();
  void run_ready();
  void bury_done();
  void dispatch(const epoll_event& event);
  [[nodiscard]] std::optional<Duration> until_next_timer() const;

  int epoll_;
  int wakeup_;
  Time now_;
  std::vector<Watch> watches_;  // by descriptor
  std::vector<Fiber*> timers_;  // binary min-heap by armed_; a fiber knows its place in it
  std::vector<Fiber*> ready_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> done_;
  std::uint64_t turns_ = 0;
  bool fine_wait_ = true;
  std::atomic<bool> stop_{false};
  std::atomic<bool> notified_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace evenkeel::http
