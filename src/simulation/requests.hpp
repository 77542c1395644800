#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "simulation/token_law.hpp"
#include "workload/trace.hpp"

namespace evenkeel::simulation {

/// What is asked of the fleet. The output is known to the simulator alone.
struct Request {
  std::int64_t prompt = 1;
  std::int64_t output = 1;
  std::uint64_t prompt_key = 0;                       ///< equal for equal prompts; 0 = none
  std::uint64_t affinity_key = 0;                     ///< of its session; 0 = none
  workload::RequestIndex place = workload::no_index;  ///< in the trace it is of
  std::uint32_t shared = 0;                           ///< which of SharedPrefixes it begins with
};

/// Recurrent prompts: each of `count` classes has one prompt size and one mean output, drawn once from the laws;
/// outputs lie evenly within +-`spread` of that mean.
struct Classes {
  std::size_t count = 400;
  double spread = 0.08;
};

/// Beginnings that requests share: each prompt is one of `count` texts of so many tokens and what the law of prompts
/// adds to it. The first is asked for `hot` times as often as each of the others.
struct SharedPrefixes {
  std::uint32_t count = 1;
  std::int64_t tokens = 0;
  double hot = 1;
};

/// Where the lengths come from: a trace in its order, or laws.
struct Lengths {
  TokenLaw prompts;
  TokenLaw outputs;
  std::optional<Classes> classes;
  std::optional<SharedPrefixes> shared;
  std::shared_ptr<const workload::Trace> trace;  ///< if set, in place of the laws

  [[nodiscard]] double mean_output() const;
  [[nodiscard]] std::string text() const;
};

/// The requests of one seed, in order: the same for every policy. A trace begins anew after its end; seed 1 starts at
/// its start, the others elsewhere in it.
class RequestSequence {
 public:
  RequestSequence(const Lengths& lengths, std::uint64_t seed);
  [[nodiscard]] Request next();
  /// One of the trace.
  [[nodiscard]] Request of_trace(std::size_t index) const;

 private:
  struct Class {
    std::int64_t prompt = 1;
    std::int64_t mean_output = 1;
  };

  void begin_alike(Request& request);

  const Lengths& lengths_;
  Random random_;
  std::vector<Class> classes_;
  std::size_t next_of_trace_ = 0;
};

}  // namespace evenkeel::simulation
