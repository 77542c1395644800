#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "workload/collector.hpp"

namespace evenkeel::workload {

/// One request of a recorded conversation, in the order in which they must run.
struct Turn {
  std::string agent;     ///< empty for the main conversation, else the sub-agent it belongs to
  double at_s = 0;       ///< recorded start, from the start of the conversation
  double think_s = 0;    ///< the client's wait before it
  double service_s = 0;  ///< how long the service took; 0 if not recorded
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  NameIndex model = no_index;
  PrefixList prefix = no_prefix;
  std::uint32_t prefix_block_size = 0;
};

/// Starts conversations as a Poisson process and adds their turns as one chain: each waits for the one before
/// it to end, then for its think time. A sub-agent's requests come before the parent goes on; the recorded
/// think time of the parent's next request contains the time the sub-agent took, which is taken off it again.
class ConversationStarter {
 public:
  /// `sessions_per_s` over 0.
  ConversationStarter(double sessions_per_s, std::uint64_t seed, Collector& collector);

  /// False, and nothing added, if the next conversation starts behind the slice, as will all that follow.
  [[nodiscard]] bool add(std::string_view session, const std::vector<Turn>& turns);

 private:
  double sessions_per_s_;
  Random random_;
  Collector& collector_;
  double start_s_;
  RequestIndex added_ = 0;
};

}  // namespace evenkeel::workload
