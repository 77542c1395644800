// Key orders, and which keys are null rather than absent, follow vLLM's serializer: a router may look at
// bytes.
#include <fmt/format.h>

#include "emulator/shape.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {
namespace {

class OpenAiShape final : public AnswerShape {
 public:
  explicit OpenAiShape(const Answer& answer)
      : answer_(answer),
        chat_(answer.request.endpoint == Endpoint::chat),
        head_(fmt::format(R"("id":{},"object":"{}","created":{},"model":{},)", json_string(answer.id),
                          chat_ ? "chat.completion.chunk" : "text_completion", answer.created,
                          json_string(answer.model))) {}

  void tokens(std::string& out, std::size_t index, std::int64_t count, bool finished) override {
    const Sequence& sequence = answer_.sequences[index];
    const bool first = sequence.delivered == 0;
    if (first && chat_) role_chunk(out, index);
    out += "data: {";
    out += head_;
    fmt::format_to(std::back_inserter(out), R"("choices":[{{"index":{},)", index);
    // The words need no escape.
    out += chat_ ? R"("delta":{"content":")" : R"("text":")";
    for (std::int64_t k = 0; k < count; ++k) out += output_word(sequence.key, sequence.delivered + k);
    out += chat_ ? R"("},"logprobs":null,"finish_reason":)" : R"(","logprobs":null,"finish_reason":)";
    if (finished) {
      fmt::format_to(std::back_inserter(out), R"("{}")", engine::name_of(sequence.reason));
    } else {
      out += "null";
    }
    if (finished || !chat_) out += R"(,"stop_reason":null)";
    if (answer_.request.return_token_ids) {
      if (first && !chat_) prompt_ids(out, sequence);
      output_ids(out, sequence, sequence.delivered, count);
    }
    out += "}]";
    if (answer_.request.continuous_usage) usage(out, {sequence.prompt_tokens, sequence.delivered + count});
    out += "}\n\n";
  }

  void end(std::string& out) override {
    if (answer_.request.include_usage) {
      out += "data: {";
      out += head_;
      out += R"("choices":[])";
      usage(out, usage_of(answer_));
      out += "}\n\n";
    }
    out += "data: [DONE]\n\n";
  }

  void fail(std::string& out, const ApiError& error) override {
    out += "data: " + openai_error(error) + "\n\ndata: [DONE]\n\n";
  }

  [[nodiscard]] std::string whole(std::string_view kv_transfer_params) override {
    std::string out =
        fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)", json_string(answer_.id),
                    chat_ ? "chat.completion" : "text_completion", answer_.created, json_string(answer_.model));
    for (std::size_t index = 0; index < answer_.sequences.size(); ++index) {
      if (index > 0) out += ',';
      whole_choice(out, index);
    }
    out += R"(],"service_tier":null,"system_fingerprint":null)";
    const UsageSum sum = usage_of(answer_);
    usage(out, sum);
    out.pop_back();
    if (sum.cached == 0) out += R"(,"prompt_tokens_details":null)";
    out += '}';
    if (chat_) {
      out += R"(,"prompt_logprobs":null)";
      if (answer_.request.return_token_ids) {
        prompt_ids(out, answer_.sequences[0]);
      } else {
        out += R"(,"prompt_token_ids":null)";
      }
    }
    out += R"(,"kv_transfer_params":)";
    out += kv_transfer_params;
    out += '}';
    return out;
  }

 private:
  void role_chunk(std::string& out, std::size_t index) const {
    const Sequence& sequence = answer_.sequences[index];
    fmt::format_to(std::back_inserter(out),
                   R"(data: {{{}"choices":[{{"index":{},"delta":{{"role":"assistant","content":""}},)"
                   R"("logprobs":null,"finish_reason":null}}])",
                   head_, index);
    if (answer_.request.continuous_usage) usage(out, {sequence.prompt_tokens, 0});
    if (answer_.request.return_token_ids) prompt_ids(out, sequence);
    out += "}\n\n";
  }

  void whole_choice(std::string& out, std::size_t index) const {
    const Sequence& sequence = answer_.sequences[index];
    const std::string text = json_string(text_of(sequence, 0, sequence.delivered));
    fmt::format_to(std::back_inserter(out), R"({{"index":{},)", index);
    if (chat_) {
      fmt::format_to(std::back_inserter(out),
                     R"("message":{{"role":"assistant","content":{},"refusal":null,"annotations":null,"audio":null,)"
                     R"("function_call":null,"tool_calls":[],"reasoning":null}},)",
                     text);
    } else {
      fmt::format_to(std::back_inserter(out), R"("text":{},)", text);
    }
    fmt::format_to(std::back_inserter(out), R"("logprobs":null,"finish_reason":"{}","stop_reason":null)",
                   engine::name_of(sequence.reason));
    if (answer_.request.return_token_ids) {
      output_ids(out, sequence, 0, sequence.delivered);
    } else {
      out += R"(,"token_ids":null)";
    }
    if (!chat_) {
      out += R"(,"prompt_logprobs":null)";
      if (answer_.request.return_token_ids) {
        prompt_ids(out, sequence);
      } else {
        out += R"(,"prompt_token_ids":null)";
      }
    }
    out += '}';
  }

  void prompt_ids(std::string& out, const Sequence& sequence) const {
    out += R"(,"prompt_token_ids":[)";
    bool comma = false;
    for (const std::int64_t id : answer_.request.prompts[sequence.prompt].ids) {
      if (std::exchange(comma, true)) out += ',';
      fmt::format_to(std::back_inserter(out), "{}", id);
    }
    out += ']';
  }

  static void output_ids(std::string& out, const Sequence& sequence, std::int64_t from, std::int64_t count) {
    out += R"(,"token_ids":[)";
    for (std::int64_t k = from; k < from + count; ++k) {
      if (k > from) out += ',';
      fmt::format_to(std::back_inserter(out), "{}", output_id(sequence.key, k));
    }
    out += ']';
  }

  static void usage(std::string& out, UsageSum sum) {
    fmt::format_to(std::back_inserter(out), R"(,"usage":{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{})",
                   sum.prompt, sum.prompt + sum.completion, sum.completion);
    // None found is not told, as by vLLM.
    if (sum.cached > 0) {
      fmt::format_to(std::back_inserter(out), R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", sum.cached);
    }
    out += '}';
  }

  Answer answer_;
  bool chat_;
  std::string head_;
};

}  // namespace

std::unique_ptr<AnswerShape> make_openai_shape(const Answer& answer) { return std::make_unique<OpenAiShape>(answer); }

}  // namespace evenkeel::emulator
