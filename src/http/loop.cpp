#include "http/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <exception>
#include <system_error>

#include "http/stream.hpp"

namespace evenkeel::http {

namespace {
Time read_clock() { return SteadyClock().now(); }

void require(bool fine, const char* what) {
  if (!fine) throw std::system_error(errno, std::generic_category(), what);
}
}  // namespace

void Fiber::wake() {
  woken_ = true;
  if (waiting_ && !scheduled_) {
    scheduled_ = true;
    loop_.ready_.push_back(this);
  }
}

void Fiber::set_deadline(Time deadline) {
  deadline_ = deadline;
  if (deadline < armed_) loop_.arm(*this);
}

bool Fiber::deadline_passed() const { return deadline_ <= loop_.now(); }

Task<void> Fiber::sleep_until(Time when) {
  set_deadline(when);
  while (loop_.now() < when) co_await wait();
  clear_deadline();
}

EventLoop::EventLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wakeup_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), now_(read_clock()) {
  require(epoll_ >= 0, "epoll_create1");
  require(wakeup_ >= 0, "eventfd");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = static_cast<std::uint64_t>(wakeup_);
  require(epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) == 0, "epoll_ctl");
}

EventLoop::~EventLoop() {
  fibers_.clear();  // destroys their frames and with them their streams, while the epoll is still there
  ::close(wakeup_);
  ::close(epoll_);
}

void EventLoop::run(bool until_idle) {
  while (!stop_.load(std::memory_order_acquire)) {
    run_ready();
    if (until_idle && fibers_.empty()) return;
    wait_for_events();
    run_posted();
    fire_timers();
    ++turns_;
  }
  run_posted();
}

void EventLoop::stop() {
  stop_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(wakeup_, &one, sizeof one);
}

void EventLoop::post(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(call));
  }
  if (!notified_.exchange(true, std::memory_order_acq_rel)) {
    const std::uint64_t one = 1;
    (void)!::write(wakeup_, &one, sizeof one);
  }
}

Time EventLoop::refresh_now() { return now_ = read_clock(); }

void EventLoop::watch(int fd, Stream* stream) {
  const auto slot = static_cast<std::size_t>(fd);
  if (watches_.size() <= slot) watches_.resize(slot + slot / 2 + 16);
  Watch& watch = watches_[slot];
  watch.stream = stream;
  ++watch.generation;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = (std::uint64_t{watch.generation} << 32U) | static_cast<std::uint32_t>(fd);
  require(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

void EventLoop::move_watch(int fd, Stream* stream) { watches_[static_cast<std::size_t>(fd)].stream = stream; }

void EventLoop::unwatch(int fd) {
  Watch& watch = watches_[static_cast<std::size_t>(fd)];
  watch.stream = nullptr;
  ++watch.generation;  // events of this batch that still name the old descriptor are stale now
}

Fiber& EventLoop::add_fiber() {
  auto fiber = std::make_unique<Fiber>(*this);
  fiber->index_ = fibers_.size();
  fibers_.push_back(std::move(fiber));
  return *fibers_.back();
}

void EventLoop::start(Fiber& fiber) {
  fiber.waiting_ = fiber.root_->handle();
  fiber.wake();
}

void EventLoop::wake_all() {
  for (const auto& fiber : fibers_) fiber->wake();
}

void EventLoop::arm(Fiber& fiber) {
  const bool was_armed = fiber.armed_ != Fiber::never;
  fiber.armed_ = fiber.deadline_;
  if (!was_armed) {
    timers_.push_back(&fiber);
    fiber.heap_at_ = timers_.size() - 1;
  }
  sift_up(fiber.heap_at_);
}

void EventLoop::disarm(Fiber& fiber) {
  if (fiber.armed_ == Fiber::never) return;
  fiber.armed_ = Fiber::never;
  const std::size_t hole = fiber.heap_at_;
  Fiber* const last = timers_.back();
  timers_.pop_back();
  if (last == &fiber) return;
  place(hole, last);
  sift_up(hole);
  sift_down(last->heap_at_);
}

void EventLoop::place(std::size_t at, Fiber* fiber) {
  timers_[at] = fiber;
  fiber->heap_at_ = at;
}

void EventLoop::sift_up(std::size_t at) {
  Fiber* const fiber = timers_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (timers_[parent]->armed_ <= fiber->armed_) break;
    place(at, timers_[parent]);
    at = parent;
  }
  place(at, fiber);
}

void EventLoop::sift_down(std::size_t at) {
  Fiber* const fiber = timers_[at];
  while (true) {
    std::size_t child = 2 * at + 1;
    if (child >= timers_.size()) break;
    if (child + 1 < timers_.size() && timers_[child + 1]->armed_ < timers_[child]->armed_) ++child;
    if (fiber->armed_ <= timers_[child]->armed_) break;
    place(at, timers_[child]);
    at = child;
  }
  place(at, fiber);
}

void EventLoop::fire_timers() {
  while (!timers_.empty() && timers_.front()->armed_ <= now_) {
    Fiber& fiber = *timers_.front();
    disarm(fiber);
    if (fiber.deadline_ <= now_) {
      fiber.wake();
    } else if (fiber.deadline_ != Fiber::never) {
      arm(fiber);  // it had moved later meanwhile
    }
  }
}

std::optional<Duration> EventLoop::until_next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return std::max(Duration(0), timers_.front()->armed_ - now_);
}

void EventLoop::wait_for_events() {
  std::array<epoll_event, 256> events;
  const auto wait = ready_.empty() ? until_next_timer() : std::optional(Duration(0));
  int count = -1;
  constexpr auto fine_below = std::chrono::milliseconds(50);
  if (fine_wait_ && wait && *wait > Duration(0) && *wait < fine_below) {
    timespec limit{0, static_cast<long>(wait->count())};
    count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &limit, nullptr);
    if (count < 0 && errno != EINTR) fine_wait_ = false;  // an old kernel or a container that denies it
  } else {
    int millis = -1;
    if (wait) {
      const auto rounded_up = (*wait + std::chrono::milliseconds(1) - Duration(1)) / std::chrono::milliseconds(1);
      millis = static_cast<int>(std::min<std::int64_t>(rounded_up, 60'000));
    }
    count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), millis);
  }
  now_ = read_clock();
  for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)]);
}

void EventLoop::dispatch(const epoll_event& event) {
  const int fd = static_cast<int>(event.data.u64 & 0xffffffffU);
  if (fd == wakeup_) {
    std::uint64_t count = 0;
    (void)!::read(wakeup_, &count, sizeof count);
    return;
  }
  const Watch& watch = watches_[static_cast<std::size_t>(fd)];
  if (watch.stream == nullptr || watch.generation != event.data.u64 >> 32U) return;
  watch.stream->on_events(event.events);
}

void EventLoop::run_posted() {
  if (!notified_.exchange(false, std::memory_order_acq_rel)) return;
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
  }
  for (auto& call : calls) call();
}

void EventLoop::run_ready() {
  // Fibers woken by fibers run in the same turn, but not for ever: the sockets want their turn too.
  for (int round = 0; round < 16 && !ready_.empty(); ++round) {
    std::vector<Fiber*> batch;
    batch.swap(ready_);
    for (Fiber* fiber : batch) {
      fiber->scheduled_ = false;
      if (fiber->done_ || !fiber->waiting_) continue;
      const auto resume = std::exchange(fiber->waiting_, nullptr);
      resume.resume();
      if (fiber->root_->handle().done()) {
        if (fiber->root_->handle().promise().thrown) std::rethrow_exception(fiber->root_->handle().promise().thrown);
        fiber->done_ = true;
        done_.push_back(fiber);
      }
    }
    if (ready_.empty()) {  // keep the capacity
      batch.clear();
      ready_.swap(batch);
    }
  }
  bury_done();
}

void EventLoop::bury_done() {
  for (Fiber* fiber : done_) {
    std::erase(ready_, fiber);
    disarm(*fiber);
    const std::size_t index = fiber->index_;
    std::swap(fibers_[index], fibers_.back());
    fibers_[index]->index_ = index;
    fibers_.pop_back();
  }
  done_.clear();
}

}  // namespace evenkeel::http
