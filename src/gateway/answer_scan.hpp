#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/outcome.hpp"
#include "gateway/endpoint.hpp"

namespace evenkeel::gateway {

/// Counts that an engine stated about a request.
struct Usage {
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::int64_t cached = -1;  ///< of the prompt, found in the engine's prefix cache; -1 = not told
};

/// The last `"usage":{...}` object in `json` with its counts, in OpenAI's names or Anthropic's and Responses'
/// (input_tokens, output_tokens); nothing if there is none that is whole. Quotes inside JSON strings are escaped,
/// so the pattern cannot come from generated text.
[[nodiscard]] std::optional<Usage> find_usage(std::string_view json);

/// Looks at the events of one stream as they pass; changes nothing and keeps nothing of them.
class StreamScan {
 public:
  explicit StreamScan(Dialect dialect) : dialect_(dialect) {}

  enum class Kind : std::uint8_t {
    content,   ///< carries text, reasoning or tool tokens
    other,     ///< role chunk, finish, usage, ping, comment
    error,     ///< the engine's own error
    true_end,  ///< what says that the stream is whole
  };
  /// `event` is one event with its line ends. Costs a few searches in it, no allocation.
  Kind see(std::string_view event);

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const std::optional<Usage>& usage() const { return usage_; }
  /// Tokens that the last content event told (its token ids), or 0: one event, count unknown.
  [[nodiscard]] std::int64_t stated_tokens() const { return stated_tokens_; }
  [[nodiscard]] std::uint64_t content_events() const { return content_events_; }

 private:
  Kind see_openai(std::string_view data);
  Kind see_responses(std::string_view name, std::string_view data);
  Kind see_messages(std::string_view name, std::string_view data);
  Kind fail();
  Kind content();

  Dialect dialect_;
  bool ended_ = false;
  bool failed_ = false;
  std::int64_t stated_tokens_ = 0;
  std::uint64_t content_events_ = 0;
  std::optional<Usage> usage_;
  // Where things stood in the last event of this stream: the next one is nearly always alike.
  std::size_t choices_at_ = 0;
  std::size_t content_at_ = 0;
  std::size_t content_key_ = ~std::size_t{0};
  bool ids_absent_ = false;
};

}  // namespace evenkeel::gateway
