// How prompts of every shape become tokens and a hash.
#include <fmt/format.h>

#include "emulator/request.hpp"
#include "emulator/text.hpp"

namespace evenkeel::emulator {
namespace {

using simdjson::dom::element;

bool read_part(PromptReader& reader, element part) {
  std::string_view text;
  if (part.get(text) == simdjson::SUCCESS) {
    reader.text(text);
    return true;
  }
  simdjson::dom::object object;
  if (part.get(object) != simdjson::SUCCESS) return false;
  if (object["text"].get(text) == simdjson::SUCCESS) {
    reader.text(text);
    return true;
  }
  std::string_view type;
  if (object["type"].get(type) != simdjson::SUCCESS) return false;
  reader.other(simdjson::minify(part), tokens_of_a_part);
  return true;
}

/// A text, a list of parts, or null.
bool read_content(PromptReader& reader, element content) {
  if (content.is_null()) return true;
  simdjson::dom::array parts;
  if (content.get(parts) != simdjson::SUCCESS) return content.is_string() && read_part(reader, content);
  for (const element part : parts) {
    if (!read_part(reader, part)) return false;
  }
  return true;
}

bool read_message(PromptReader& reader, element message) {
  simdjson::dom::object object;
  std::string_view role;
  if (message.get(object) != simdjson::SUCCESS) return false;
  if (object["role"].get(role) != simdjson::SUCCESS) return false;
  element content;
  return object["content"].get(content) != simdjson::SUCCESS || read_content(reader, content);
}

bool read_ids(PromptReader& reader, simdjson::dom::array ids) {
  for (const element each : ids) {
    const auto id = whole_of(each);
    if (!id || *id < 0 || *id >= vocabulary_size) return false;
    reader.id(*id);
  }
  return true;
}

Prompt finish(PromptReader& reader) { return {reader.tokens(), reader.hash(), reader.take_ids(), reader.take_chain()}; }

}  // namespace

std::vector<Prompt> read_prompts(JsonBody& body, std::string_view key, const PromptReading& wanted) {
  std::vector<Prompt> prompts;
  const auto refuse = [&] {
    body.reject(key, fmt::format("a text, a list of texts, a list of token ids below {}, or a list of such lists",
                                 vocabulary_size));
    return std::vector<Prompt>();
  };
  const auto value = body.find(key);
  if (!value) return refuse();
  simdjson::dom::array list;
  const bool several = value->get(list) == simdjson::SUCCESS;
  if (!several && !value->is_string()) return refuse();
  if (!several || (list.size() > 0 && whole_of(list.at(0).value_unsafe()))) {
    PromptReader reader(wanted);
    if (several ? !read_ids(reader, list) : !read_part(reader, *value)) return refuse();
    prompts.push_back(finish(reader));
  } else {
    for (const element each : list) {
      PromptReader reader(wanted);
      simdjson::dom::array ids;
      const bool fine =
          each.get(ids) == simdjson::SUCCESS ? read_ids(reader, ids) : each.is_string() && read_part(reader, each);
      if (!fine) return refuse();
      prompts.push_back(finish(reader));
      if (static_cast<std::int64_t>(prompts.size()) > most_sequences) {
        body.reject(key, fmt::format("at most {} prompts", most_sequences));
        return {};
      }
    }
  }
  for (const Prompt& prompt : prompts) {
    if (prompt.tokens == 0) body.reject(key, "prompts of at least one token");
  }
  if (prompts.empty()) return refuse();
  return prompts;
}

Prompt read_messages(JsonBody& body, std::string_view key, std::string_view before, const PromptReading& wanted) {
  PromptReader reader(wanted);
  if (const auto text = before.empty() ? std::nullopt : body.find(before); text && !read_content(reader, *text)) {
    body.reject(before, "a text or a list of parts");
  }
  const auto value = body.find(key);
  simdjson::dom::array list;
  bool fine = value && value->get(list) == simdjson::SUCCESS && list.size() > 0;
  if (fine) {
    for (const element message : list) fine = fine && read_message(reader, message);
  }
  if (!fine) body.reject(key, "a list of messages, each with a role and with a text or a list of parts as content");
  Prompt prompt = finish(reader);
  if (prompt.tokens == 0) {  // a chat template always adds something
    prompt.tokens = 1;
    prompt.chain.add(0);
  }
  return prompt;
}

}  // namespace evenkeel::emulator
