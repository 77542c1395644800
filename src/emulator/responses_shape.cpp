// OpenAI's Responses API in its smallest true form: one message item of one text part.
#include <fmt/format.h>

#include "emulator/shape.hpp"

namespace evenkeel::emulator {
namespace {

class ResponsesShape final : public AnswerShape {
 public:
  explicit ResponsesShape(const Answer& answer) : answer_(answer), item_(json_string("msg_" + answer.id)) {}

  void begin(std::string& out) override {
    event(out, "response.created", fmt::format(R"("response":{})", body("in_progress")));
    event(out, "response.in_progress", fmt::format(R"("response":{})", body("in_progress")));
  }

  void tokens(std::string& out, std::size_t index, std::int64_t count, bool finished) override {
    const Sequence& sequence = answer_.sequences[index];
    if (sequence.delivered == 0) {
      event(out, "response.output_item.added", fmt::format(R"("output_index":0,"item":{})", item("in_progress", "")));
      event(out, "response.content_part.added", place() + R"(,"part":)" + part(R"("")"));
    }
    event(out, "response.output_text.delta",
          place() + R"(,"delta":)" + json_string(text_of(sequence, sequence.delivered, count)) + R"(,"logprobs":[])");
    if (!finished) return;
    const std::string text = json_string(text_of(sequence, 0, sequence.delivered + count));
    event(out, "response.output_text.done", place() + R"(,"text":)" + text + R"(,"logprobs":[])");
    event(out, "response.content_part.done", place() + R"(,"part":)" + part(text));
    event(out, "response.output_item.done", fmt::format(R"("output_index":0,"item":{})", item(status(), part(text))));
  }

  void end(std::string& out) override {
    event(out, fmt::format("response.{}", status()), fmt::format(R"("response":{})", body(status())));
  }

  void fail(std::string& out, const ApiError& error) override {
    event(out, "error",
          fmt::format(R"("code":"{}","message":{},"param":null)", error.status, json_string(error.message)));
  }

  [[nodiscard]] std::string whole(std::string_view) override { return body(status()); }

 private:
  [[nodiscard]] std::string_view status() const {
    return answer_.sequences[0].reason == engine::FinishReason::length ? "incomplete" : "completed";
  }
  [[nodiscard]] std::string place() const {
    return fmt::format(R"("item_id":{},"output_index":0,"content_index":0)", item_);
  }
  [[nodiscard]] static std::string part(std::string_view quoted_text) {
    return fmt::format(R"({{"type":"output_text","text":{},"annotations":[],"logprobs":[]}})", quoted_text);
  }
  [[nodiscard]] std::string item(std::string_view status, std::string_view content) const {
    return fmt::format(R"({{"id":{},"type":"message","role":"assistant","status":"{}","content":[{}]}})", item_, status,
                       content);
  }
  [[nodiscard]] std::string body(std::string_view status) const {
    const bool ended = status != "in_progress";
    const Sequence& sequence = answer_.sequences[0];
    const UsageSum sum = usage_of(answer_);
    const std::string output =
        ended ? item(status, part(json_string(text_of(sequence, 0, sequence.delivered)))) : std::string();
    const std::string usage =
        ended ? fmt::format(R"({{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{}}},"output_tokens":{},)"
                            R"("output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}})",
                            sum.prompt, sum.cached, sum.completion, sum.prompt + sum.completion)
              : "null";
    return fmt::format(R"({{"id":{},"object":"response","created_at":{},"status":"{}","error":null,)"
                       R"("incomplete_details":{},"model":{},"output":[{}],"parallel_tool_calls":true,)"
                       R"("tool_choice":"auto","tools":[],"usage":{}}})",
                       json_string(answer_.id), answer_.created, status,
                       status == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null",
                       json_string(answer_.model), output, usage);
  }
  void event(std::string& out, std::string_view type, std::string_view fields) {
    fmt::format_to(std::back_inserter(out), "event: {}\ndata: {{\"type\":\"{}\",\"sequence_number\":{},{}}}\n\n", type,
                   type, number_++, fields);
  }

  Answer answer_;
  std::string item_;
  std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<AnswerShape> make_responses_shape(const Answer& answer) {
  return std::make_unique<ResponsesShape>(answer);
}

}  // namespace evenkeel::emulator
