#pragma once

// The dispatcher in front of fluid engines, on virtual time, event by event.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/support/desk.hpp"
#include "dispatch/support/fluid_engine.hpp"

namespace evenkeel::dispatch::testing {

struct WorldEngine {
  std::string name;
  std::vector<double> rates;  ///< tokens a second at 1, 2, ... running
  std::int64_t max_in_flight = 64;
};

/// Two boxes as they were measured: the second is faster, far more so with one request.
inline std::vector<WorldEngine> thor_and_spark(std::int64_t max_in_flight) {
  return {{"thor", {18.18, 50.71}, max_in_flight}, {"spark", {49.24, 87.82}, max_in_flight}};
}

struct Probing {
  Duration interval = seconds(5);
  Duration round_trip{};  ///< the engine looks half-way
  Duration gauge_lag{};
  Duration phase{};
};

class World {
 public:
  struct Job {
    Time submitted{};
    std::optional<Time> ended;
    double tokens = 0;
    SlipPtr slip;  ///< null: came to the engine past the router
    std::uint32_t worker = 0;
  };
  struct Heard {
    std::uint32_t worker = 0;
    double reported = 0;
    double ours = 0;  ///< our leases there when the report arrived
  };

  World(std::vector<WorldEngine> engines, DispatcherOptions options, std::unique_ptr<routing::Policy> policy,
        std::uint64_t seed, std::optional<Probing> probing = {});

  std::size_t submit(double tokens, std::int64_t prompt = 0);
  void submit_foreign(std::uint32_t worker, double tokens);
  void run_until(Time end);
  /// Until all of ours have ended.
  void run_until_done();
  [[nodiscard]] Time now() const { return desk.clock.now(); }

  Desk desk;
  std::vector<Job> jobs;
  std::function<void(const Heard&)> on_report;

 private:
  struct Probe {
    Time sent{};
    Time look_at = Time::max();
    Time hear_at = Time::max();
    double seen = 0;
  };

  void begin(std::size_t job, std::uint32_t worker);
  void advance_engines();
  void stream_tokens();
  void probe();
  void hear(std::uint32_t worker);
  [[nodiscard]] Time next_event() const;

  std::optional<Probing> probing_;
  std::vector<FluidEngine> engines_;
  std::vector<Probe> probes_;
  Time next_tick_{};
  Time next_probe_{};
  std::size_t open_ = 0;
  std::vector<std::size_t> granted_;  ///< jobs that were given a lease since the last look
};

}  // namespace evenkeel::dispatch::testing
