#include <cstdio>

#include <CLI/CLI.hpp>

#include "load.hpp"

namespace {

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

int main(int argc, char** argv) {
  using namespace relay_bench;
  CLI::App app{"Load for the relay benchmark, against 127.0.0.1. Prints one JSON line; 1 on any wrong byte."};
  app.require_subcommand(1);
  UnaryPlan unary;
  StreamPlan streams;
  std::uint16_t port = 0;
  double warmup_s = 0;
  double seconds = 0;
  double limit_s = 120;
  app.add_option("--port", port, "where the proxy listens")->required()->check(CLI::Range(1, 65535));
  app.add_option("--limit-seconds", limit_s, "fail if not done by then")->check(CLI::Range(1.0, 3600.0));

  const auto timed = [&](CLI::App* mode) {
    mode->fallthrough();
    mode->add_option("--warmup-seconds", warmup_s, "before measuring")->check(CLI::Range(0.0, 60.0));
    mode->add_option("--seconds", seconds, "measured time")->check(CLI::Range(0.0, 600.0));
  };
  auto* closed = app.add_subcommand("unary", "closed loop: each connection sends its next request at once");
  auto* open = app.add_subcommand("rate", "open loop at a rate, latency from the scheduled time");
  auto* upload = app.add_subcommand("upload", "closed loop of large bodies");
  for (CLI::App* mode : {closed, open, upload}) {
    timed(mode);
    mode->add_option("--connections", unary.connections, "keep-alive connections")->check(CLI::Range(1, 10'000));
  }
  for (CLI::App* mode : {closed, upload}) {
    mode->add_option("--requests", unary.requests, "a fixed number instead of --seconds")
        ->check(CLI::Range(1, 100'000'000));
  }
  open->add_option("--rate", unary.rate_per_s, "requests per second")->required()->check(CLI::Range(1.0, 1e6));
  upload->add_option("--bytes", unary.upload_bytes, "size of a body")->required()->check(CLI::Range(256, 1 << 30));

  auto* stream = app.add_subcommand("streams", "concurrent streams, each event checked and timed");
  timed(stream);
  stream->add_option("--streams", streams.streams, "concurrent streams")->check(CLI::Range(1, 20'000));
  stream->add_option("--events", streams.events, "events per stream")->required()->check(CLI::Range(1, 10'000'000));
  stream->add_option("--interval-us", streams.interval_us, "between events of a stream; 0 = flat out")
      ->check(CLI::Range(0, 60'000'000));
  stream->add_option("--look-every-us", streams.look_every_us, "sleep between looks at the sockets; 0 = wake at once")
      ->check(CLI::Range(0, 100'000));
  stream->add_flag("--in-step", streams.in_step, "all streams of an engine send together, as in a batch");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  if (seconds <= 0 && unary.requests == 0 && !stream->parsed()) {
    std::fprintf(stderr, "bench_load: --seconds must be above 0\n");
    return 2;
  }

  const Bounds bounds{.limit_ns = nanoseconds(limit_s)};
  unary.port = streams.port = port;
  unary.warmup_ns = streams.warmup_ns = nanoseconds(warmup_s);
  unary.length_ns = streams.length_ns = nanoseconds(seconds);
  if (stream->parsed()) {
    run_streams(streams, bounds);
  } else {
    run_unary(unary, bounds);
  }
}
