#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "workload/prefix_store.hpp"

namespace evenkeel::workload {

/// Places in Trace::names() and Trace::requests; this value says "none".
using NameIndex = std::uint32_t;
using RequestIndex = std::uint32_t;
inline constexpr std::uint32_t no_index = 0xFFFFFFFFU;

/// One request of a workload. 72 bytes, so that a week of a large service still fits in memory.
struct TraceRequest {
  Duration arrival{};  ///< from the start of the trace; of a dependent request only what was recorded
  Tokens prompt_tokens{};
  Tokens output_tokens{};  ///< for whoever plays the engine; a router must not see it
  NameIndex model = no_index;
  NameIndex client = no_index;
  NameIndex session = no_index;
  RequestIndex after = no_index;  ///< starts only when that request has ended and `think` has passed since
  Duration think{};
  PrefixList prefix = no_prefix;        ///< in Trace::prefixes
  std::uint32_t prefix_block_size = 0;  ///< tokens a block of `prefix`
};

/// A workload in order of arrival. `after` always points to an earlier place.
struct Trace {
  std::string format;  ///< name of the format it was read as
  std::vector<TraceRequest> requests;
  PrefixStore prefixes;
  std::vector<std::string> notes;  ///< what the reader left out or assumed, for a person

  [[nodiscard]] std::string_view name(NameIndex index) const {
    return index == no_index ? std::string_view() : std::string_view(names_[index]);
  }
  /// The index of `text`, made if it is new; `no_index` for an empty text.
  [[nodiscard]] NameIndex intern(std::string_view text);
  [[nodiscard]] std::vector<std::uint64_t> prefix_blocks(const TraceRequest& request) const {
    return prefixes.read(request.prefix);
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, NameIndex> index_;
};

/// What part of a trace to keep, and how. Applied in the order of the fields; times are those of the trace.
struct Slice {
  double from_s = 0;  ///< keep arrivals in [from_s, to_s); the kept part starts at 0
  double to_s = std::numeric_limits<double>::infinity();
  std::int64_t prompt_from = 0;  ///< keep requests whose prompt has prompt_from to prompt_to tokens
  std::int64_t prompt_to = std::numeric_limits<std::int64_t>::max();
  std::int64_t output_from = 0;  ///< and whose output has output_from to output_to tokens
  std::int64_t output_to = std::numeric_limits<std::int64_t>::max();
  std::uint64_t max_requests = std::numeric_limits<std::uint64_t>::max();  ///< the first so many by arrival
  std::int64_t cap_prompt = std::numeric_limits<std::int64_t>::max();      ///< longer ones are cut to this
  std::int64_t cap_output = std::numeric_limits<std::int64_t>::max();
  double time_scale = 1;  ///< trace seconds a second: 2 replays twice as fast, think times too

  /// Empty if all is well, else which field is wrong and what is allowed.
  [[nodiscard]] std::string fault() const;
};

}  // namespace evenkeel::workload
