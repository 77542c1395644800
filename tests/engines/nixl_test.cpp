// The bodies of the two legs, read back by another parser, and what a prefill engine hands over.
#include "engines/nixl.hpp"

#include <simdjson.h>

#include <gtest/gtest.h>

namespace evenkeel::engines {
namespace {

simdjson::dom::element parsed(simdjson::dom::parser& parser, const std::string& text) {
  simdjson::dom::element root;
  EXPECT_EQ(parser.parse(text).get(root), simdjson::SUCCESS) << text;
  return root;
}

std::string text_of(simdjson::dom::element root, std::string_view key) {
  simdjson::dom::element value;
  return root[key].get(value) == simdjson::SUCCESS ? std::string(simdjson::minify(value)) : "absent";
}

TEST(PrefillBody, AsksForOneTokenAndTheHandOverAndKeepsTheRestAsItCame) {
  const auto body = nixl_prefill_body(
      R"( {"model" : "m", "messages":[{"role":"user","content":"h\u00e4 \"}{"}, {"a":[1,[2]]}], "stream": true,)"
      R"("stream_options":{"include_usage":true},"max_tokens":77 , "min_tokens":5,"temperature":0.70000000000000001,)"
      R"("seed":12345678901234567890123,"tools":null,"x":{} } )");
  ASSERT_TRUE(body.has_value());
  EXPECT_NE(body->find(R"("messages":[{"role":"user","content":"h\u00e4 \"}{"}, {"a":[1,[2]]}])"), std::string::npos);
  EXPECT_NE(body->find("\"temperature\":0.70000000000000001"), std::string::npos) << *body;
  EXPECT_NE(body->find("\"seed\":12345678901234567890123"), std::string::npos) << *body;
  const auto params = body->rfind(R"("kv_transfer_params")");
  EXPECT_EQ(body->substr(params),
            R"("kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,)"
            R"("remote_block_ids":null,"remote_host":null,"remote_port":null}})");
  EXPECT_EQ(body->find("stream_options"), std::string::npos);
  EXPECT_EQ(body->find("min_tokens"), std::string::npos);
  EXPECT_EQ(body->find("max_completion_tokens"), std::string::npos);
  EXPECT_EQ(body->find("77"), std::string::npos);
}

TEST(PrefillBody, SetsTheNewerNameOfTheLimitWhereTheClientUsesIt) {
  simdjson::dom::parser parser;
  const auto body = nixl_prefill_body(R"({"max_completion_tokens":9,"min_completion_tokens":3,"model":"m"})");
  ASSERT_TRUE(body.has_value());
  const auto root = parsed(parser, *body);
  EXPECT_EQ(text_of(root, "max_completion_tokens"), "1");
  EXPECT_EQ(text_of(root, "max_tokens"), "1");
  EXPECT_EQ(text_of(root, "min_completion_tokens"), "absent");
  EXPECT_EQ(text_of(root, "stream"), "false");
  EXPECT_EQ(text_of(root, "model"), "\"m\"");
}

TEST(PrefillBody, FindsItsMembersUnderEscapesAndDropsAllThatAreGivenTwice) {
  simdjson::dom::parser parser;
  const auto body = nixl_prefill_body(R"({"str\u0065am":true,"max_tokens":5,"max_tokens":6,"we\"ird\n":1})");
  ASSERT_TRUE(body.has_value());
  const auto root = parsed(parser, *body);
  EXPECT_EQ(text_of(root, "stream"), "false");
  EXPECT_EQ(text_of(root, "max_tokens"), "1");
  EXPECT_EQ(root.get_object().value_unsafe().size(), 4U) << *body;
  EXPECT_EQ(text_of(root, "we\"ird\n"), "1");
}

TEST(PrefillBody, IsMadeOfObjectsOnly) {
  for (const auto* bad : {"", "[1]", "\"x\"", "{\"a\":", "{\"a\":\"b", "null", "{\"a\":1"}) {
    EXPECT_FALSE(nixl_prefill_body(bad).has_value()) << bad;
  }
  EXPECT_TRUE(nixl_prefill_body("{}").has_value());
}

TEST(TransferParams, AreTakenByteForByte) {
  const std::string params =
      R"({"do_remote_prefill":true, "remote_block_ids":[[1, 2],[]],"remote_host":"h{}","future":{"a":1e400}})";
  EXPECT_EQ(nixl_transfer_params(R"({"id":"x","choices":[{"text":"kv_transfer_params"}],"kv_transfer_params": )" +
                                 params + R"( ,"usage":{"prompt_tokens":3}})"),
            params);
  // A flat list, as in vLLM 0.10.0.
  EXPECT_EQ(nixl_transfer_params(R"({"kv_transfer_params":{"remote_block_ids":[1,2]}})"),
            R"({"remote_block_ids":[1,2]})");
}

TEST(TransferParams, AreNoneWhereNothingIsHandedOver) {
  for (const auto* none :
       {R"({"kv_transfer_params":null})", R"({"id":"x"})", R"({"kv_transfer_params":[1]})",
        R"({"kv_transfer_params":"{}"})", R"({"choices":[{"kv_transfer_params":{"a":1}}]})", "", "not json",
        R"({"kv_transfer_params":{"a":1})", R"({"kv_transfer_params":{"a":1},"kv_transfer_params":null})"}) {
    EXPECT_EQ(nixl_transfer_params(none), std::nullopt) << none;
  }
}

TEST(DecodeBody, IsTheClientsWithOneMemberMore) {
  EXPECT_EQ(nixl_decode_body("{\"a\" : 1,\n \"b\":\"}\" }\n", "{\"x\":1}"),
            "{\"a\" : 1,\n \"b\":\"}\" ,\"kv_transfer_params\":{\"x\":1}}\n");
  EXPECT_EQ(nixl_decode_body("{  }", "{}"), "{  \"kv_transfer_params\":{}}");
}

}  // namespace
}  // namespace evenkeel::engines
