#include "gateway/body_skim.hpp"

#include <simdjson.h>

#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "gateway/body_stream.hpp"

namespace evenkeel::gateway {
namespace {

/// Feeds `body` in pieces of `step`; what the skim says of it must not depend on the cuts.
BodySkim skim(const std::string& body, std::size_t step, bool* good) {
  BodySkim result(true);
  bool fine = true;
  for (std::size_t at = 0; at < body.size() && fine; at += step)
    fine = result.feed(std::string_view(body).substr(at, step));
  *good = fine && result.finish();
  return result;
}

std::string stripped(std::string body, const BodySkim& skim) {
  blank_out(body, 0, skim.blanks());
  return body;
}

TEST(BodySkim, ReadsTheTopLevelHoweverItIsCut) {
  const std::string body =
      R"({"messages":[{"role":"user","content":"say \"model\": \"x\" }]"}], "model" : "llama\/8b", "stream": true,)"
      R"( "priority":-3,"n":4,"max_tokens":512,"user":"u1","session_id":"s1","extra":{"model":"no","stream":false}})";
  for (std::size_t step = 1; step <= body.size(); ++step) {
    bool good = false;
    const BodySkim result = skim(body, step, &good);
    ASSERT_TRUE(good) << step << result.complaint();
    const auto& facts = result.facts();
    EXPECT_EQ(facts.model, "llama/8b");
    EXPECT_EQ(body.substr(facts.model_value.begin, facts.model_value.end - facts.model_value.begin), R"("llama\/8b")");
    EXPECT_TRUE(facts.stream);
    EXPECT_EQ(facts.priority, -3);
    EXPECT_EQ(facts.sequences, 4);
    EXPECT_EQ(facts.output_bound, 512);
    EXPECT_EQ(facts.session, "s1");
    EXPECT_TRUE(result.blanks().empty());
  }
}

TEST(BodySkim, CountsWhatTheEngineMakesNotWhatItReturns) {
  const auto sequences = [](const std::string& body) {
    bool good = false;
    const auto count = skim(body, body.size(), &good).facts().sequences;
    EXPECT_TRUE(good) << body;
    return count;
  };
  EXPECT_EQ(sequences(R"({"n":2,"best_of":5})"), 5);
  EXPECT_EQ(sequences(R"({"best_of":5,"n":2})"), 5);
  EXPECT_EQ(sequences(R"({"best_of":null,"n":3})"), 3);
  EXPECT_EQ(sequences(R"({"best_of":"5"})"), 1);
}

TEST(BodySkim, KnowsEveryNameOfTheBoundOfAnAnswer) {
  bool good = false;
  for (const char* name : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
    const auto bound = [&](const std::string& value) {
      return skim("{\"" + std::string(name) + "\":" + value + "}", 5, &good).facts().output_bound;
    };
    EXPECT_EQ(bound("77"), 77) << name;
    EXPECT_EQ(bound("null"), 0) << name;
    EXPECT_EQ(bound("-5"), 0) << name;
    EXPECT_EQ(bound("\"9\""), 0) << name;
    EXPECT_EQ(bound("99999999999"), 1 << 30) << name;
  }
}

TEST(BodySkim, TheLastOfAKeyGivenTwiceCountsAndEscapedKeysAreKeys) {
  bool good = false;
  EXPECT_EQ(skim(R"({"model":"a","model":"b"})", 7, &good).facts().model, "b");
  EXPECT_EQ(skim(R"({"model":"a","mod\u0065l":"c"})", 7, &good).facts().model, "c");
  EXPECT_FALSE(skim(R"({"model":"a","model":null})", 7, &good).facts().has_model);
  EXPECT_TRUE(skim(R"({"model":5})", 7, &good).facts().model_wrong_type);
  EXPECT_TRUE(skim(R"({"model":["a"]})", 7, &good).facts().model_wrong_type);
  EXPECT_FALSE(skim(R"({"stream":true,"stream":false})", 7, &good).facts().stream);
}

TEST(BodySkim, BlanksTransferFieldsAndLeavesJsonOfTheSameSize) {
  const char* const bodies[] = {
      R"({"kv_transfer_params":{"a":[1,"}"]},"model":"m"})",
      R"({"model":"m","kv_transfer_params":{"do_remote_prefill":true}})",
      R"({"model":"m" , "bootstrap_room" : 7 , "x":1})",
      R"({"bootstrap_host":"h","bootstrap_port":1,"data_parallel_rank":0})",
      R"({"routed_dp_rank":3,"model":"m","ec_transfer_params":null,"disaggregated_params":{},"y":[]})",
      R"({"model":"m","kv_tr\u0061nsfer_params":1})",
      R"({"a":{"kv_transfer_params":1},"model":"m"})",
  };
  const bool removes[] = {true, true, true, true, true, true, false};
  int index = 0;
  for (const std::string body : bodies) {
    for (std::size_t step = 1; step <= body.size(); ++step) {
      bool good = false;
      const BodySkim result = skim(body, step, &good);
      ASSERT_TRUE(good) << body << result.complaint();
      const std::string left = stripped(body, result);
      EXPECT_EQ(left.size(), body.size());
      EXPECT_EQ(left != body, removes[index]) << body;
      simdjson::dom::parser parser;
      const auto parsed = parser.parse(left);
      ASSERT_EQ(parsed.error(), simdjson::SUCCESS) << left;
      const simdjson::dom::object object = parsed.get_object();
      for (const auto field : object) {
        const std::string_view key = field.key;
        EXPECT_TRUE(key == "model" || key == "x" || key == "y" || key == "a") << left;
      }
    }
    ++index;
  }
}

TEST(BodySkim, RefusesWhatIsNoObject) {
  for (const std::string body :
       {"", "   ", "[]", "5", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{\"a\":1}}", "{\"a\":[}]}",
        "{\"a\":\"x}", "{a:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":}", "{,}", "{\"a\":1}x", "\"{}\""}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
      bool good = true;
      const BodySkim result = skim(body, step, &good);
      EXPECT_FALSE(good) << body;
      EXPECT_FALSE(result.complaint().empty()) << body;
    }
  }
}

TEST(BodySkim, EstimatesWhatAPromptHolds) {
  bool good = false;
  EXPECT_EQ(skim(R"({"prompt":[1,22,333]})", 4, &good).facts().prompt_ids, 3U);
  EXPECT_EQ(skim(R"({"prompt":["a","b"]})", 4, &good).facts().list_prompts, 2U);
  EXPECT_EQ(skim(R"({"prompt":["a","b"]})", 4, &good).facts().prompt_ids, 0U);
  EXPECT_EQ(skim(R"({"prompt":[[1,2],[3]]})", 4, &good).facts().list_prompts, 2U);
  const std::string media = R"({"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,)" +
                            std::string(100000, 'A') + R"("}}]}]})";
  const auto facts = skim(media, 4096, &good).facts();
  EXPECT_EQ(facts.media_parts, 1U);
  EXPECT_LT(facts.text_bytes, 200U);
}

/// Random JSON objects, written by us and read by simdjson: both must see the same model and stream.
class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}

  std::string object(int depth) {
    std::string out = "{";
    const auto members = random_.below(6);
    for (std::uint64_t i = 0; i < members; ++i) {
      if (i > 0) out += blank() + ",";
      out += blank() + key() + blank() + ":" + blank() + value(depth);
    }
    return out + blank() + "}";
  }

 private:
  std::string blank() { return std::string(random_.below(3), " \n\t"[random_.below(3)]); }
  std::string key() {
    constexpr const char* keys[] = {"\"model\"", "\"stream\"",         "\"kv_transfer_params\"",
                                    "\"x\"",     "\"bootstrap_room\"", "\"q\\\"\""};
    return keys[random_.below(6)];
  }
  std::string text() {
    std::string out = "\"";
    for (std::uint64_t i = random_.below(12); i > 0; --i) {
      constexpr const char* parts[] = {"a", "\\\"", "\\\\", "{",       "}",        "[",
                                       "]", ",",    ":",    "\\u0041", "\xC3\xA9", "model"};
      out += parts[random_.below(12)];
    }
    return out + "\"";
  }
  std::string value(int depth) {
    switch (random_.below(depth > 0 ? 6 : 4)) {
      case 0: return text();
      case 1: return "true";
      case 2: return "-12.5e3";
      case 3: return "null";
      case 4: return object(depth - 1);
      default: return "[" + value(depth - 1) + "," + value(depth - 1) + "]";
    }
  }
  Random random_;
};

TEST(BodySkim, AgreesWithSimdjsonOnRandomObjects) {
  RandomJson json(5);
  Random random(6);
  for (int round = 0; round < 3000; ++round) {
    const std::string body = json.object(3);
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    ASSERT_EQ(parser.parse(body).get(object), simdjson::SUCCESS) << body;
    std::string model;
    bool has_model = false, stream = false;
    for (const auto field : object) {
      const std::string_view name = field.key;
      if (name == "model") {
        std::string_view text;
        has_model = field.value.get(text) == simdjson::SUCCESS;
        model = has_model ? std::string(text) : "";
      }
      bool flag = false;
      if (name == "stream") stream = field.value.get(flag) == simdjson::SUCCESS && flag;
    }
    bool good = false;
    const BodySkim result = skim(body, 1 + random.below(9), &good);
    ASSERT_TRUE(good) << body << result.complaint();
    EXPECT_EQ(result.facts().has_model, has_model) << body;
    EXPECT_EQ(result.facts().model, model) << body;
    EXPECT_EQ(result.facts().stream, stream) << body;
    simdjson::dom::object left;
    const std::string rest = stripped(body, result);
    ASSERT_EQ(parser.parse(rest).get(left), simdjson::SUCCESS) << body << "\n" << rest;
    for (const auto field : left)
      EXPECT_TRUE(field.key != "kv_transfer_params" && field.key != "bootstrap_room") << rest;
  }
}

TEST(BodyStream, SendsTheSameBytesAsEditingTheWhole) {
  RandomJson json(9);
  Random random(10);
  for (int round = 0; round < 2000; ++round) {
    const std::string body = json.object(3);
    bool good = false;
    const std::string expected = stripped(body, skim(body, body.size(), &good));
    http::MessageParser parser(http::MessageParser::Direction::request);
    BodyStream stream(true, true, parser, false, body.size(), 1 << 20);
    std::string sent;
    std::size_t at = 0;
    auto status = BodyStream::Status::more;
    while (status == BodyStream::Status::more) {
      std::size_t consumed = 0;
      const std::string piece = body.substr(at, 1 + random.below(7));
      status = stream.take(piece, consumed);
      sent += stream.ready();
      at += consumed;
    }
    ASSERT_EQ(status, BodyStream::Status::done) << stream.complaint();
    EXPECT_EQ(sent, expected);
  }
}

}  // namespace
}  // namespace evenkeel::gateway
