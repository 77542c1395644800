// The exact bytes that upstream and load agree on, so that the load can compare every byte a proxy relays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relay_bench {

// The 600-byte JSON of a unary answer.
const std::string& unary_answer();

// One SSE event: a chat completion chunk of exactly event_size bytes whose content is the 20-digit
// CLOCK_MONOTONIC time (ns) at which it was sent.
inline constexpr std::size_t event_size = 200;
inline constexpr std::size_t stamp_size = 20;
const std::string& event_template();
std::size_t stamp_offset();
void write_stamp(char* at, std::uint64_t time_ns);
// False when the 20 bytes are not all digits.
bool read_stamp(std::string_view digits, std::uint64_t& time_ns);

// What follows the last event: finish chunk, usage chunk, [DONE].
std::string stream_tail(std::uint64_t events);

// Request bodies. A unary one is about 0.7 KiB, as a short chat; a streaming one asks for `events` events,
// one each `interval_us` (0 = as fast as the socket takes them). `in_step` asks for them on the steps of the
// engine: all its streams one after the other, as continuous batching sends them.
std::string unary_request_body();
std::string stream_request_body(std::uint64_t events, std::uint64_t interval_us, bool in_step);
// A body of exactly `size` bytes (at least 256).
std::string upload_request_body(std::size_t size);
// Head and body of a POST to /v1/chat/completions.
std::string request_bytes(std::string_view body);

}  // namespace relay_bench
