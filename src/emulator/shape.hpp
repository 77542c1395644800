#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "emulator/api_error.hpp"
#include "emulator/plan.hpp"
#include "emulator/request.hpp"

namespace evenkeel::emulator {

/// What an answer is made of. Both views must outlive the shape.
struct Answer {
  std::string id;            ///< with its prefix
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;
  const GenerationRequest& request;
  std::span<Sequence> sequences;  ///< `delivered` is counted up by whoever calls tokens()
};

/// How one endpoint writes answers. A stream is begin(), then tokens() for everything that is generated, then
/// end(); or fail() at any point. An answer in one piece is whole() when everything was counted as delivered.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;
  /// What goes out together with the response head, before any token exists.
  virtual void begin(std::string& out) { static_cast<void>(out); }
  /// `count` tokens of sequence `index` that follow on its `delivered` ones; `finished`: they are its last.
  virtual void tokens(std::string& out, std::size_t index, std::int64_t count, bool finished) = 0;
  /// All that stands behind the last token, the true end included.
  virtual void end(std::string& out) = 0;
  virtual void fail(std::string& out, const ApiError& error) = 0;
  /// `kv_transfer_params`: JSON; chat and completions show it.
  [[nodiscard]] virtual std::string whole(std::string_view kv_transfer_params) = 0;
};

/// /v1/chat/completions and /v1/completions, as vLLM writes them.
[[nodiscard]] std::unique_ptr<AnswerShape> make_openai_shape(const Answer& answer);
/// /v1/responses: the events of one text item.
[[nodiscard]] std::unique_ptr<AnswerShape> make_responses_shape(const Answer& answer);
/// /v1/messages: the events of one text block.
[[nodiscard]] std::unique_ptr<AnswerShape> make_messages_shape(const Answer& answer);
[[nodiscard]] std::unique_ptr<AnswerShape> make_shape(const Answer& answer);

/// The prefix of ids of that endpoint: chatcmpl-, cmpl-, resp_, msg_.
[[nodiscard]] std::string_view id_prefix(Endpoint endpoint);

/// Helpers of the shapes.
[[nodiscard]] std::string text_of(const Sequence& sequence, std::int64_t from, std::int64_t count);
struct UsageSum {
  std::int64_t prompt = 0;
  std::int64_t completion = 0;
  std::int64_t cached = 0;  ///< of the prompts, as their first answers found them
};
/// Every prompt counts once, however many answers it has.
[[nodiscard]] UsageSum usage_of(const Answer& answer);
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace evenkeel::emulator
