#include "emulator/shape.hpp"

#include "base/text.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {

std::unique_ptr<AnswerShape> make_shape(const Answer& answer) {
  switch (answer.request.endpoint) {
    case Endpoint::responses: return make_responses_shape(answer);
    case Endpoint::messages: return make_messages_shape(answer);
    case Endpoint::chat:
    case Endpoint::completions: break;
  }
  return make_openai_shape(answer);
}

std::string_view id_prefix(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::chat: return "chatcmpl-";
    case Endpoint::completions: return "cmpl-";
    case Endpoint::responses: return "resp_";
    case Endpoint::messages: return "msg_";
  }
  return "";
}

std::string text_of(const Sequence& sequence, std::int64_t from, std::int64_t count) {
  std::string text;
  for (std::int64_t k = from; k < from + count; ++k) text += output_word(sequence.key, k);
  return text;
}

UsageSum usage_of(const Answer& answer) {
  UsageSum sum;
  for (const Prompt& prompt : answer.request.prompts) sum.prompt += prompt.tokens;
  for (const Sequence& sequence : answer.sequences) sum.completion += sequence.delivered;
  const auto answers_each = static_cast<std::size_t>(answer.request.n);
  for (std::size_t i = 0; i < answer.sequences.size(); i += answers_each) sum.cached += answer.sequences[i].cached;
  return sum;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace evenkeel::emulator
