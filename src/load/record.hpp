#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::load {

/// How a request ended, as its client saw it.
enum class Ending : std::uint8_t {
  completed,    ///< a whole answer with its true end
  connect,      ///< no connection
  timeout,      ///< not ended within the limit
  no_answer,    ///< the connection ended before the head of an answer
  status,       ///< an answer that is not 200
  error_event,  ///< 200, then an error in place of (the rest of) the answer
  truncated,    ///< the answer broke off: no [DONE], or fewer bytes than announced
  malformed,    ///< not HTTP, not JSON, or not a stream where one was asked for
};
inline constexpr std::size_t ending_count = 8;

[[nodiscard]] std::string_view name(Ending ending);

/// How the output tokens of an answer were counted.
enum class CountedBy : std::uint8_t {
  none,    ///< not: nothing told
  events,  ///< events with content; an event may hold several tokens
  usage,   ///< the engine said so
};

inline constexpr std::uint32_t no_worker = 0xFFFFFFFFU;

/// What one request met. Times count from the start of the replay.
struct RequestRecord {
  Duration due{};   ///< when it should have been sent: its scheduled arrival
  Duration sent{};  ///< when it was
  Duration ended{};
  std::optional<Duration> first_content;  ///< first event with content; none if not streamed or none came
  Duration last_content{};                ///< last one, if there was a first
  Tokens trace_prompt{};                  ///< by the trace
  Tokens trace_output{};
  Tokens prompt{};  ///< by the engine's usage, else by the trace
  Tokens output{};  ///< by usage, else by events
  CountedBy counted_by = CountedBy::none;
  Ending ending = Ending::completed;
  bool held = false;                 ///< waited in the client because of the cap
  int status = 0;                    ///< of HTTP; 0 if no answer came
  std::uint32_t worker = no_worker;  ///< index into the names the receipts told
  float router_wait_ms = -1;         ///< by the receipt; negative if it told none
};

}  // namespace evenkeel::load
