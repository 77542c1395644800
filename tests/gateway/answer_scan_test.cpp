#include "gateway/answer_scan.hpp"

#include <simdjson.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/message.hpp"

namespace evenkeel::gateway {
namespace {

using Kind = StreamScan::Kind;

/// The body of a recorded stream: an .sse file as it is, an .http file with its head cut off and its chunks joined.
std::string recorded(const std::string& name) {
  std::ifstream file(std::string(EVENKEEL_SOURCE_DIR) + "/tests/wire/" + name, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  std::string bytes = all.str();
  EXPECT_FALSE(bytes.empty()) << name;
  if (!name.ends_with(".http")) return bytes;
  http::MessageParser parser(http::MessageParser::Direction::response);
  EXPECT_EQ(parser.parse_head(bytes), http::ParseStatus::done) << parser.complaint();
  std::vector<std::string_view> data;
  (void)parser.decode_chunks(std::string_view(bytes).substr(parser.head().size), data);
  std::string body;
  for (const auto piece : data) body += piece;
  return body;
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  std::string event;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) {
      event += line + '\n';
    } else if (!event.empty()) {
      events.push_back(std::exchange(event, {}) + '\n');
    }
  }
  return events;
}

std::string data_of(const std::string& event) {
  const auto at = event.find("data: ");
  return at == std::string::npos ? "" : event.substr(at + 6, event.find('\n', at) - at - 6);
}

bool is_text(simdjson::simdjson_result<simdjson::dom::element> value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS && !text.empty();
}

/// What a parser says of an event of chat or completions: whether one of its choices carries tokens.
bool carries_tokens(simdjson::dom::element event) {
  simdjson::dom::array choices;
  if (event["choices"].get(choices) != simdjson::SUCCESS) return false;
  for (const auto choice : choices) {
    simdjson::dom::array calls;
    if (is_text(choice["text"]) || is_text(choice["delta"]["content"]) ||
        is_text(choice["delta"]["reasoning_content"]) || is_text(choice["delta"]["reasoning"]) ||
        choice["delta"]["tool_calls"].get(calls) == simdjson::SUCCESS) {
      return true;
    }
  }
  return false;
}

struct Told {
  std::uint64_t content = 0;
  bool ended = false;
  bool failed = false;
  std::optional<std::pair<std::int64_t, std::int64_t>> usage;
  bool operator==(const Told&) const = default;
};
void PrintTo(const Told& told, std::ostream* out) {
  *out << told.content << " content events, ended " << told.ended << ", failed " << told.failed << ", usage "
       << (told.usage ? told.usage->first : -1) << "/" << (told.usage ? told.usage->second : -1);
}

Told scanned(Dialect dialect, const std::string& body) {
  StreamScan scan(dialect);
  for (const auto& event : events_of(body)) scan.see(event);
  Told told{scan.content_events(), scan.ended(), scan.failed(), std::nullopt};
  if (scan.usage()) told.usage = {scan.usage()->prompt, scan.usage()->output};
  return told;
}

/// The same of a chat or completions stream, by simdjson.
Told parsed(const std::string& body) {
  Told told;
  simdjson::dom::parser parser;
  for (const auto& event : events_of(body)) {
    const std::string data = data_of(event);
    if (data.starts_with("[DONE]")) {
      told.ended = true;
      continue;
    }
    simdjson::dom::element json;
    EXPECT_EQ(parser.parse(data).get(json), simdjson::SUCCESS) << data;
    simdjson::dom::object error, usage;
    told.failed = told.failed || json["error"].get(error) == simdjson::SUCCESS;
    told.content += carries_tokens(json) ? 1 : 0;
    if (json["usage"].get(usage) != simdjson::SUCCESS) continue;
    told.usage = {usage["prompt_tokens"].get_int64().value(), usage["completion_tokens"].get_int64().value()};
  }
  return told;
}

TEST(StreamScan, AgreesWithSimdjsonOnRecordedStreams) {
  for (const std::string name :
       {"vllm/chat.sse", "vllm/chat-usage.sse", "vllm/completions-two-answers.sse", "vllm/error-event.sse",
        "sglang/error_queue_full.sse", "tgi/error_generation.sse", "tgi/error_overloaded.sse",
        "llama_cpp/chat_stream.http", "llama_cpp/completion_stream.http"}) {
    const std::string body = recorded(name);
    EXPECT_EQ(scanned(Dialect::openai, body), parsed(body)) << name;
    EXPECT_TRUE(scanned(Dialect::openai, body).ended) << name;
  }
}

// What the two other families of streams hold was counted by eye and with grep in the recordings.
TEST(StreamScan, ReadsRecordedMessagesAndResponses) {
  EXPECT_EQ(scanned(Dialect::messages, recorded("vllm/messages.sse")), (Told{2, true, false, {{5, 2}}}));
  const auto deltas = [](const std::string& body, std::string_view name) {
    std::uint64_t count = 0;
    for (const auto& event : events_of(body)) count += event.starts_with(name) ? 1 : 0;
    return count;
  };
  const std::string messages = recorded("llama_cpp/messages_stream.http");
  const Told of_messages = scanned(Dialect::messages, messages);
  EXPECT_EQ(of_messages.content, deltas(messages, "event: content_block_delta\n"));
  EXPECT_TRUE(of_messages.ended && !of_messages.failed && of_messages.usage.has_value());
  for (const std::string name : {"vllm/responses.sse", "llama_cpp/responses_stream.http"}) {
    const std::string responses = recorded(name);
    const Told told = scanned(Dialect::responses, responses);
    EXPECT_EQ(told.content, deltas(responses, "event: response.output_text.delta\n")) << name;
    EXPECT_GT(told.content, 0U) << name;
    EXPECT_TRUE(told.ended && !told.failed && told.usage.has_value()) << name;
  }
}

TEST(StreamScan, TellsContentFromTheRestInEachShape) {
  const auto kind = [](std::string_view data, Dialect dialect = Dialect::openai) {
    StreamScan scan(dialect);
    return scan.see("data: " + std::string(data) + "\n\n");
  };
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"), Kind::other);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"content":null}}]})"), Kind::other);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"content":"a"}}]})"), Kind::content);
  EXPECT_EQ(kind(R"({"choices": [{"delta": {"content": "a"}}]})"), Kind::content);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"reasoning_content":"a"}}]})"), Kind::content);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"reasoning":"a","content":null}}]})"), Kind::content);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]})"),
            Kind::content);
  EXPECT_EQ(kind(R"({"choices":[{"text":"\"error\""}]})"), Kind::content);
  EXPECT_EQ(kind(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"), Kind::other);
  EXPECT_EQ(kind(R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}})"), Kind::other);
  EXPECT_EQ(kind(R"({"error":{"message":"m"}})"), Kind::error);
  EXPECT_EQ(kind(R"({"object":"error","message":"m"})"), Kind::error);
  EXPECT_EQ(kind("[DONE]"), Kind::true_end);
  EXPECT_EQ(kind("[DONE]", Dialect::opaque), Kind::other);
  EXPECT_EQ(kind(R"({"type":"error","error":{"type":"overloaded_error"}})", Dialect::messages), Kind::error);
  EXPECT_EQ(kind(R"({"type":"response.failed","response":{}})", Dialect::responses), Kind::true_end);
  StreamScan scan(Dialect::openai);
  EXPECT_EQ(scan.see(": ping\n\n"), Kind::other);
  EXPECT_EQ(scan.see("event: x\r\ndata:{\"choices\":[{\"text\":\"a\"}]}\r\n\r\n"), Kind::content);
}

TEST(StreamScan, AStreamThatChangesItsShapeIsStillRead) {
  // Reasoning first, then text, then a tool call, heads of changing length: nothing may be taken from the event before.
  StreamScan scan(Dialect::openai);
  EXPECT_EQ(scan.see("data: {\"id\":\"a\",\"choices\":[{\"delta\":{\"reasoning_content\":\"x\"}}]}\n\n"),
            Kind::content);
  EXPECT_EQ(scan.see("data: {\"id\":\"a\",\"choices\":[{\"delta\":{\"reasoning_content\":\"\"}}]}\n\n"), Kind::other);
  EXPECT_EQ(scan.see("data: {\"id\":\"abcdef\",\"choices\":[{\"delta\":{\"content\":\"y\"}}]}\n\n"), Kind::content);
  EXPECT_EQ(scan.see("data: {\"id\":\"b\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"}}]}\n\n"),
            Kind::content);
  EXPECT_EQ(scan.see("data: {\"choices\":[]}\n\n"), Kind::other);
  EXPECT_EQ(scan.see("data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\n"),
            Kind::other);
  EXPECT_EQ(scan.see("data: {\"error\":{\"message\":\"late\"}}\n\n"), Kind::error);
  EXPECT_EQ(scan.content_events(), 3U);
  EXPECT_TRUE(scan.failed());
}

TEST(StreamScan, TokenIdsTellHowManyTokensAnEventHolds) {
  StreamScan scan(Dialect::openai);
  const auto see = [&](std::string_view ids) {
    scan.see("data: {\"choices\":[{\"text\":\"ab\",\"prompt_token_ids\":[9,9,9,9],\"token_ids\":" + std::string(ids) +
             "}]}\n\n");
    return scan.stated_tokens();
  };
  EXPECT_EQ(see("[1,2,3]"), 3);
  EXPECT_EQ(see("[7]"), 1);
  EXPECT_EQ(see("[ 1, 2 ]"), 2);
}

TEST(StreamScan, AFailedResponseIsATrueEndAndAFailure) {
  StreamScan scan(Dialect::responses);
  scan.see("event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"usage\":null}}\n\n");
  EXPECT_TRUE(scan.ended());
  EXPECT_TRUE(scan.failed());
}

}  // namespace
}  // namespace evenkeel::gateway
