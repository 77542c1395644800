#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dispatch/dispatcher.hpp"
#include "dispatch/tape.hpp"

namespace evenkeel::dispatch {

/// Writes what a dispatcher decides on as lines of JSON, one a turn, so that its decisions can be made again exactly:
/// docs/recording.md has the format. Whoever reads it sees by the running numbers whether a line is missing.
class Recorder final : public Tape {
 public:
  /// Given whole lines, under the dispatcher's lock: must not wait.
  using Sink = std::function<void(std::string_view line)>;
  /// Writes the head: what the dispatcher is made of. `policy` is as make_policy() reads it.
  Recorder(Sink sink, std::string_view policy, std::uint64_t seed, const DispatcherOptions& options);

  void begin(const Ask& asked, Time now) override;
  void read(std::int64_t& value) override;
  void ended(fleet::LeaseSummary& summary) override;
  void placed(RequestId request, WorkerId worker, std::string_view reason) override;
  void refused(RequestId request, fleet::Refusal why) override;
  void finish() override;

 private:
  const Sink sink_;
  std::uint64_t number_ = 0;
  std::string line_;
  std::string read_;
  std::string became_;
};

}  // namespace evenkeel::dispatch
