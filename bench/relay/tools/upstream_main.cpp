#include <cstdio>

#include <CLI/CLI.hpp>

#include "upstream.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Fake engines for the relay benchmark. Prints one line with its first port once it listens."};
  std::uint16_t base_port = 0;
  std::uint16_t count = 8;
  std::uint64_t limit_seconds = 3600;
  app.add_option("--base-port", base_port, "first of the consecutive ports; 0 finds free ones");
  app.add_option("--count", count, "number of engines")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--limit-seconds", limit_seconds, "ends by itself after this time")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  relay_bench::Upstream upstream(base_port, count);
  std::printf("{\"base_port\":%u,\"count\":%u}\n", static_cast<unsigned>(upstream.base_port()),
              static_cast<unsigned>(count));
  std::fflush(stdout);
  upstream.run(relay_bench::now_ns() + limit_seconds * 1'000'000'000u);
}
