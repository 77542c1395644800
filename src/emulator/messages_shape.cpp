// Anthropic's Messages API in its smallest true form: one text block.
#include <fmt/format.h>

#include "emulator/shape.hpp"

namespace evenkeel::emulator {
namespace {

class MessagesShape final : public AnswerShape {
 public:
  explicit MessagesShape(const Answer& answer) : answer_(answer) {}

  void tokens(std::string& out, std::size_t index, std::int64_t count, bool finished) override {
    const Sequence& sequence = answer_.sequences[index];
    if (sequence.delivered == 0) {
      event(out, "message_start", fmt::format(R"("message":{})", message("", "null", 0)));
      event(out, "content_block_start", R"("index":0,"content_block":{"type":"text","text":""})");
    }
    event(out, "content_block_delta",
          fmt::format(R"("index":0,"delta":{{"type":"text_delta","text":{}}})",
                      json_string(text_of(sequence, sequence.delivered, count))));
    if (finished) event(out, "content_block_stop", R"("index":0)");
  }

  void end(std::string& out) override {
    const UsageSum sum = usage_of(answer_);
    event(out, "message_delta",
          fmt::format(R"("delta":{{"stop_reason":{},"stop_sequence":null}},)"
                      R"("usage":{{"input_tokens":{},"output_tokens":{}}})",
                      stop_reason(), sum.prompt, sum.completion));
    out += "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
  }

  void fail(std::string& out, const ApiError& error) override {
    out += "event: error\ndata: " + anthropic_error(error) + "\n\n";
  }

  [[nodiscard]] std::string whole(std::string_view) override {
    const Sequence& sequence = answer_.sequences[0];
    const std::string block =
        fmt::format(R"({{"type":"text","text":{}}})", json_string(text_of(sequence, 0, sequence.delivered)));
    return message(block, stop_reason(), sequence.delivered);
  }

 private:
  [[nodiscard]] std::string_view stop_reason() const {
    return answer_.sequences[0].reason == engine::FinishReason::length ? R"("max_tokens")" : R"("end_turn")";
  }
  [[nodiscard]] std::string message(std::string_view content, std::string_view stop, std::int64_t output) const {
    return fmt::format(R"({{"id":{},"type":"message","role":"assistant","content":[{}],"model":{},"stop_reason":{},)"
                       R"("stop_sequence":null,"usage":{{"input_tokens":{},"output_tokens":{}}}}})",
                       json_string(answer_.id), content, json_string(answer_.model), stop, usage_of(answer_).prompt,
                       output);
  }
  static void event(std::string& out, std::string_view type, std::string_view fields) {
    fmt::format_to(std::back_inserter(out), "event: {}\ndata: {{\"type\":\"{}\",{}}}\n\n", type, type, fields);
  }

  Answer answer_;
};

}  // namespace

std::unique_ptr<AnswerShape> make_messages_shape(const Answer& answer) {
  return std::make_unique<MessagesShape>(answer);
}

}  // namespace evenkeel::emulator
