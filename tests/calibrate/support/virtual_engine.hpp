#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "calibrate/options.hpp"
#include "calibrate/ramp.hpp"
#include "engine/rate_engine.hpp"

namespace evenkeel::calibrate {

/// An engine by rate table under a virtual clock, with as many slots as the table has levels.
class VirtualEngine final : public engine::EngineSink {
 public:
  explicit VirtualEngine(std::vector<double> tokens_per_s);

  /// While all that runs begins with what it has seen before, the engine is so many times as fast: an exaggerated
  /// prefix cache.
  void cached_prompts_run(double times_as_fast) { cached_factor_ = times_as_fast; }
  /// Of outputs, in place of max_tokens.
  void draw_lengths(std::int64_t least, std::int64_t most) { lengths_ = {least, most}; }
  [[nodiscard]] std::int64_t cached() const { return cached_; }

  [[nodiscard]] Time now() const { return now_; }
  void submit(std::size_t stream, const std::string& prompt, std::int64_t tokens);
  struct Happened {
    Time at;
    std::size_t stream = 0;
    std::int64_t tokens = 0;             ///< that came
    std::optional<std::int64_t> output;  ///< of the whole request, if it has ended
  };
  /// What comes next, all of one instant; nothing if the engine is empty.
  [[nodiscard]] std::vector<Happened> advance();

 private:
  struct Request {
    std::size_t stream = 0;
    std::int64_t output = 0;
    bool seen = false;
  };
  void on_event(const engine::EngineEvent& event) override;
  void choose_rates();

  std::vector<double> rates_;
  std::unique_ptr<engine::RateEngine> engine_;
  Time now_{};
  engine::RequestId next_ = 1;
  std::map<engine::RequestId, Request> requests_;
  std::vector<Happened> happened_;
  std::set<std::string> beginnings_;
  double cached_factor_ = 1;
  std::int64_t cached_ = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> lengths_;
  Random random_{11};
};

/// Drives ramp and meters as `evenkeel calibrate` does. Without `prompt`, prompts are those of Prompts.
[[nodiscard]] Ramp calibrate_in_virtual_time(VirtualEngine& engine, const Options& options,
                                             std::function<std::string()> prompt = {});

/// What sending so many requests at once and waiting for the last would measure.
[[nodiscard]] double throughput_of_one_batch(VirtualEngine& engine, std::size_t requests, std::int64_t tokens);

}  // namespace evenkeel::calibrate
