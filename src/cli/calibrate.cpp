#include "cli/calibrate.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "calibrate/show.hpp"
#include "cli/descriptors.hpp"
#include "cli/output_file.hpp"
#include "http/address.hpp"
#include "load/calibration_run.hpp"
#include "report/progress.hpp"

namespace evenkeel::cli {

namespace {

struct Flags {
  load::CalibrationTarget target;
  calibrate::Options options;
  std::string schedule = "1,2,4,8,16,32";
  std::string api_key_env;
  std::string apply;
  std::string svg;
  bool json = false;
};

/// All that can be wrong with what was given, before anything is sent.
Result<void> complete(Flags& flags) {
  auto& target = flags.target;
  for (const auto& [flag, url] : {std::pair{"--url", &target.url}, {"--router", &target.router}}) {
    if (url->empty()) continue;
    if (const auto read = http::parse_url(*url); !read)
      return failure(fmt::format("{}: {}", flag, read.error().message));
  }
  auto schedule = calibrate::parse_schedule(flags.schedule);
  if (!schedule) return tl::unexpected(schedule.error());
  flags.options.schedule = std::move(*schedule);
  if (auto fine = calibrate::validate(flags.options); !fine) return fine;
  if (!flags.api_key_env.empty()) {
    const char* const key = std::getenv(flags.api_key_env.c_str());
    if (key == nullptr || *key == 0) {
      return failure(fmt::format("--api-key-env: the environment has no {}", flags.api_key_env));
    }
    target.headers.emplace_back("Authorization", fmt::format("Bearer {}", key));
  }
  if (!flags.apply.empty()) {
    if (auto fine = check_replaceable_file("--apply", flags.apply); !fine) return fine;
  }
  return flags.svg.empty() ? Result<void>() : check_output_file("--svg", flags.svg);
}

/// A bar for each level, as nobody knows beforehand how many there will be.
class Bars {
 public:
  void operator()(const load::CalibrationProgress& at) {
    if (at.level != level_) {
      finish();
      level_ = at.level;
      bar_.emplace(clock_, to_stderr, isatty(STDERR_FILENO) != 0, fmt::format("level {}", level_),
                   static_cast<std::uint64_t>(at.wanted));
    }
    ended_ = static_cast<std::uint64_t>(at.ended);
    bar_->update(ended_);
  }
  void finish() {
    if (bar_) bar_->finish(ended_);
  }

 private:
  static void to_stderr(std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    std::fflush(stderr);
  }
  SteadyClock clock_;
  std::optional<report::Progress> bar_;
  std::int64_t level_ = 0;
  std::uint64_t ended_ = 0;
};

Result<calibrate::Calibration> measure(const Flags& flags) {
  Bars bars;
  std::random_device random;
  const std::uint64_t run = (std::uint64_t{random()} << 32U) + random();
  auto result = load::run_calibration(flags.target, flags.options, run, [&](const auto& at) { bars(at); });
  bars.finish();
  if (result) {
    using namespace std::chrono;
    result->measured_at_ms = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  return result;
}

/// Files first: what is printed says that they are written.
Result<int> show(const Flags& flags, const calibrate::Calibration& result) {
  const bool usable = result.knee.usable();
  if (!usable && !flags.apply.empty()) {
    return failure(fmt::format("{}; {} is as it was", calibrate::why_unusable(result), flags.apply));
  }
  if (!flags.apply.empty()) {
    if (auto done = replace_output_file("--apply", flags.apply, calibrate::to_json(result)); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (!flags.svg.empty()) {
    if (auto done = write_output_file("--svg", flags.svg, calibrate::to_svg(result)); !done) {
      return tl::unexpected(done.error());
    }
  }
  const std::string text = flags.json ? calibrate::to_json(result) : calibrate::to_text(result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return usable ? 0 : 1;
}

int run(Flags& flags) {
  const auto say = [](const Error& error) { fmt::print(stderr, "evenkeel calibrate: {}\n", error.message); };
  if (auto ready = complete(flags); !ready) {
    say(ready.error());
    return 2;
  }
  raise_descriptor_limit();
  const auto result = measure(flags);
  if (!result) {
    say(result.error());
    return 1;
  }
  const auto code = show(flags, *result);
  if (!code) say(code.error());
  return code.value_or(1);
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto* const command = app.add_subcommand(
      "calibrate", "measure how many requests an engine should have at once, and how fast it is then");
  const auto flags = std::make_shared<Flags>();
  auto& options = flags->options;
  auto& target = flags->target;
  auto* const url = command->add_option("--url", target.url, "the engine itself, http://host:port[/base] without /v1");
  auto* const router =
      command->add_option("--router", target.router, "admin API of a router that has the engine as a worker");
  auto* const worker = command->add_option("--worker", target.worker, "its name there; its url is the engine's");
  url->excludes(router);
  router->needs(worker);
  worker->needs(router);
  command->require_option(1, 0);
  command->add_option("--model", target.model, "served name; default: the only one that the engine serves");
  command->add_option("--api-key-env", flags->api_key_env, "environment variable whose value is sent as bearer token");
  command->add_option("--ttft-bound-s", options.ttft_bound_s, "what a first token may take, median, in seconds")
      ->required();
  command->add_option("--schedule", flags->schedule, "levels to climb, ascending; between them halves are looked at")
      ->capture_default_str();
  command
      ->add_option("--min-relative-gain", options.min_relative_gain,
                   "of throughput, that makes a step of the schedule worth going")
      ->capture_default_str();
  command->add_option("--max-tokens", options.max_tokens, "output tokens of a request")->capture_default_str();
  command->add_option("--timeout", options.timeout_s, "seconds from a request's sending to its end")
      ->capture_default_str();
  command->add_option("--apply", flags->apply, "writes a usable result to this file, which serve reads");
  command->add_flag("--json", flags->json, "one JSON object on stdout instead of the table");
  command->add_option("--svg", flags->svg, "writes the rate curve");
  command->footer(
      "Exit codes: 0 a usable result, 1 none (not plateaued, no level within the bound, others use the engine, a "
      "request "
      "failed, a file could not be written), 2 usage.");
  command->callback([flags, &exit_code] {
    if (flags->target.url.empty() && flags->target.router.empty()) {
      fmt::print(stderr, "evenkeel calibrate: --url, or --router with --worker, is wanted\n");
      exit_code = 2;
      return;
    }
    exit_code = run(*flags);
  });
}

}  // namespace evenkeel::cli
