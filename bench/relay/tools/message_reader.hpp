// Follows the framing of HTTP/1.1 messages from one peer, one after the other: head, then a body by
// Content-Length or chunks. It is the benchmark's own, so that it cannot share a mistake with the router.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relay_bench {

class MessageReader {
 public:
  enum class State { head, body, complete, broken };

  // What one call found: at most one piece of body, as a view into the bytes given.
  struct Step {
    std::size_t consumed = 0;
    std::string_view body;
  };

  // Consumes at least one byte unless the message is complete or broken. Call until it is, or the bytes end.
  Step read(std::string_view bytes);

  State state() const { return state_; }
  // Start line and fields, without the blank line; whole once the state has left `head`.
  std::string_view head() const { return head_; }
  // Value of a field, or empty. The name is given in lower case.
  std::string_view field(std::string_view lower_name) const;
  // Why the state is `broken`.
  std::string_view error() const { return error_; }
  // Ready for the peer's next message.
  void reset();

 private:
  enum class Chunk { none, size, data, data_end, trailer };

  std::size_t read_head(std::string_view bytes);
  Step read_chunked(std::string_view bytes);
  // Takes bytes up to and with a line feed into line_; true when the line is whole.
  bool take_line(std::string_view bytes, std::size_t& consumed);
  void begin_body();
  void break_off(std::string_view why);

  State state_ = State::head;
  Chunk chunk_ = Chunk::none;
  std::uint64_t left_ = 0;  // body bytes still to come, or bytes of the current chunk
  std::string head_;
  std::string line_;
  std::string_view error_;
};

}  // namespace relay_bench
