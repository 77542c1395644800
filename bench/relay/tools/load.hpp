// The load side of the relay benchmark: what to send, and what came back. Every answer is compared byte for
// byte with what the upstream is known to send; the first difference ends the program with exit code 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relay_bench {

// When measuring begins and ends. At each of the two the program prints a line ({"mark":"begin"} and
// {"mark":"end"}) on which its caller reads the proxy's CPU time; counts in a report are of the time between.
class Window {
 public:
  // Opens warmup_ns after the load's start and stays open for length_ns.
  Window(std::uint64_t warmup_ns, std::uint64_t length_ns) : warmup_ns_(warmup_ns), length_ns_(length_ns) {}
  // Starts the warm-up.
  void start(std::uint64_t now) { start_ns_ = now; }
  // Prints the marks that are due. To be called in each turn of the loop.
  void look(std::uint64_t now);
  bool open() const { return begin_ns_ != 0 && end_ns_ == 0; }
  bool over() const { return end_ns_ != 0; }
  double seconds() const { return static_cast<double>(end_ns_ - begin_ns_) / 1e9; }

 private:
  std::uint64_t warmup_ns_;
  std::uint64_t length_ns_;
  std::uint64_t start_ns_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t end_ns_ = 0;
};

// Exact quantiles of at most `limit` durations (ns); what comes after the limit fails the program.
class Samples {
 public:
  explicit Samples(std::size_t limit) : limit_(limit) {}
  void add(std::uint64_t nanoseconds);
  std::size_t count() const { return values_.size(); }
  // Nearest-rank quantile in microseconds, 0 of none. Reorders.
  double quantile_us(double q);

 private:
  std::size_t limit_;
  std::vector<std::uint32_t> values_;
};

// A phase that does not end within this time fails.
struct Bounds {
  std::uint64_t limit_ns = 120'000'000'000;
};

struct UnaryPlan {
  std::uint16_t port = 0;
  std::size_t connections = 64;
  std::uint64_t requests = 0;  // > 0: that many in a closed loop, all inside the window
  double rate_per_s = 0;       // > 0: open loop, Poisson arrivals of a fixed seed
  std::uint64_t warmup_ns = 0;
  std::uint64_t length_ns = 0;   // of the window, where `requests` is 0
  std::size_t upload_bytes = 0;  // > 0: bodies of this size
};

// Requests with 600-byte answers. Prints the report as one JSON line: requests, seconds and, in the open
// loop, p50_us and p99_us from the time a request was due (so that a stall counts for all it delayed).
void run_unary(const UnaryPlan& plan, const Bounds& bounds);

struct StreamPlan {
  std::uint16_t port = 0;
  std::size_t streams = 1000;
  std::uint64_t events = 0;       // per stream
  std::uint64_t interval_us = 0;  // between events of a stream
  bool in_step = false;           // events come on the steps of an engine, not each stream by itself
  // > 0: sleep this long between two looks at the sockets. Load and upstream share a core; a proxy that
  // passes each event on at once would else wake the load between any two sends of an engine, and the
  // switching set the pace.
  std::uint64_t look_every_us = 0;
  std::uint64_t warmup_ns = 0;  // counted from the moment all streams flow
  std::uint64_t length_ns = 0;  // 0: no window, the report counts the whole run
};

// Concurrent streams. Prints the report as one JSON line: streams, events, seconds, and delay_p50_us and
// delay_p99_us between the upstream's send and our receive.
void run_streams(const StreamPlan& plan, const Bounds& bounds);

}  // namespace relay_bench
