#include "wire.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace relay_bench {
namespace {

constexpr std::string_view stamp_place = "00000000000000000000";

// `before` and `after` with as many letters between them as make `size` bytes.
std::string padded(std::string_view before, std::string_view after, std::size_t size) {
  return fmt::format("{}{}{}", before, std::string(size - before.size() - after.size(), 'x'), after);
}

}  // namespace

const std::string& unary_answer() {
  static const std::string answer =
      padded(R"({"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench",)"
             R"("choices":[{"index":0,"message":{"role":"assistant","content":")",
             R"("},"logprobs":null,"finish_reason":"stop"}],)"
             R"("usage":{"prompt_tokens":120,"completion_tokens":64,"total_tokens":184}})",
             600);
  return answer;
}

const std::string& event_template() {
  static const std::string event =
      padded(R"(data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,)"
             R"("model":"bench","system_fingerprint":")",
             fmt::format(R"(","choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}})"
                         "\n\n",
                         stamp_place),
             event_size);
  return event;
}

std::size_t stamp_offset() {
  static const std::size_t offset = event_template().find(stamp_place);
  return offset;
}

void write_stamp(char* at, std::uint64_t time_ns) {
  for (std::size_t i = stamp_size; i-- > 0; time_ns /= 10) at[i] = static_cast<char>('0' + time_ns % 10);
}

bool read_stamp(std::string_view digits, std::uint64_t& time_ns) {
  time_ns = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    time_ns = time_ns * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

std::string stream_tail(std::uint64_t events) {
  constexpr std::string_view common =
      R"(data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench",)";
  return fmt::format(R"({}"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}})"
                     "\n\n"
                     R"({}"choices":[],"usage":{{"prompt_tokens":120,"completion_tokens":{},"total_tokens":{}}}}})"
                     "\n\ndata: [DONE]\n\n",
                     common, common, events, events + 120);
}

std::string unary_request_body() {
  return padded(R"({"model":"bench","messages":[{"role":"system","content":"You are terse."},)"
                R"({"role":"user","content":")",
                R"("}],"temperature":0.7,"max_tokens":64,"stream":false})", 720);
}

std::string stream_request_body(std::uint64_t events, std::uint64_t interval_us, bool in_step) {
  return padded(
      fmt::format(
          R"({{"model":"bench","stream":true,"stream_options":{{"include_usage":true}},)"
          R"("max_tokens":{},"bench_interval_us":{},"bench_in_step":{},"messages":[{{"role":"user","content":")",
          events, interval_us, in_step),
      R"("}]})", 720);
}

std::string upload_request_body(std::size_t size) {
  return padded(R"({"model":"bench","stream":false,"max_tokens":64,"messages":[{"role":"user","content":")", R"("}]})",
                std::max<std::size_t>(size, 256));
}

std::string request_bytes(std::string_view body) {
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench_load\r\n"
      "Accept: */*\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

}  // namespace relay_bench
