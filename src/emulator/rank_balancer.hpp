#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "engine/model.hpp"

namespace evenkeel::emulator {

/// Which rule an engine uses for a request that names no rank.
enum class RankBalancing : std::uint8_t {
  current,      ///< vLLM since July 2026 (#49204, #47420)
  old,          ///< vLLM from August 2025 (#21617) until then
  round_robin,  ///< one after the other
};

/// How an engine's one frontend spreads requests over the data-parallel ranks. It sees them as the coordinator last
/// published them, every 100 ms, and adds what it has sent since:
///   current: max(own in flight, waiting + running), and waiting * 6 * max(0, kv_usage - 0.5) more if any wait;
///            the scan for the smallest starts one rank further at each request.
///   old:     waiting * 4 + running; the scan starts at rank 0.
/// The first smallest wins, and its `waiting` counts one more until the next publication.
class RankBalancer {
 public:
  static constexpr Duration publication = std::chrono::milliseconds(100);  ///< engine time

  RankBalancer(RankBalancing rule, std::size_t ranks);

  /// Takes what the ranks publish if a publication is due by `now`. To be called before anything changes at `now`, so
  /// that what was true at the last publication is what is taken.
  void see(Time now, const engine::EngineModel& model);
  /// `own_in_flight`: by rank, what this frontend has sent and not seen end.
  [[nodiscard]] std::size_t choose(std::span<const std::int64_t> own_in_flight);

 private:
  struct Counts {
    std::int64_t waiting = 0;
    std::int64_t running = 0;
    double kv_usage = 0;
  };
  [[nodiscard]] double score(std::size_t rank, std::int64_t own_in_flight) const;

  RankBalancing rule_;
  std::vector<Counts> counts_;
  std::size_t next_ = 0;  ///< where the scan starts; for round robin the choice
  std::int64_t published_ = 0;
};

}  // namespace evenkeel::emulator
