#include "engines/discovery.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engines/wire_support.hpp"

namespace evenkeel::engines {
namespace {

TEST(Detect, ByTheOwnerOfTheModels) {
  EXPECT_EQ(detect({.models_body = wire("sglang/models.json")}), Kind::sglang);
  EXPECT_EQ(detect({.models_body = wire_body("llama_cpp/models.http")}), Kind::llama_cpp);
  EXPECT_EQ(detect({.models_body = R"({"data":[{"id":"m","owned_by":"vllm"}]})"}), Kind::vllm);
  EXPECT_EQ(detect({.models_body = R"({"data":[{"id":"m","owned_by":"vllm"}]})",
                    .metrics_body = wire("sglang/metrics_before.txt")}),
            Kind::vllm)
      << "the model list speaks for the server, a metrics page may be a collector's";
}

TEST(Detect, ByTheMetricsWhereTheModelsDoNotTell) {
  const std::string locked = R"({"error":"Unauthorized"})";
  for (const auto* page : {"vllm/metrics_v0.txt", "vllm/metrics_two_ranks.txt"}) {
    EXPECT_EQ(detect({.models_body = locked, .metrics_body = wire(page)}), Kind::vllm) << page;
  }
  EXPECT_EQ(detect({.metrics_body = wire("sglang/metrics_ranks.txt")}), Kind::sglang);
  EXPECT_EQ(detect({.metrics_body = wire_body("llama_cpp/metrics_idle.http")}), Kind::llama_cpp);
  EXPECT_EQ(detect({.models_body = wire("tgi/models.json"), .metrics_body = wire("tgi/metrics.txt")}), Kind::tgi);
}

TEST(Detect, ByAPageOfItsOwn) {
  EXPECT_EQ(detect({.props_body = wire_body("llama_cpp/props.http")}), Kind::llama_cpp);
  EXPECT_EQ(detect({.models_body = wire("tgi/models.json"), .info_body = wire("tgi/info.json")}), Kind::tgi);
}

TEST(Detect, PlainWhenNothingFits) {
  EXPECT_EQ(detect({}), Kind::openai);
  EXPECT_EQ(detect({.models_body = R"({"data":[{"id":"gpt","owned_by":"library"}]})",
                    .metrics_body = "process_cpu_seconds_total 1\n",
                    .props_body = "{}",
                    .info_body = R"({"router":"other"})"}),
            Kind::openai);
  EXPECT_EQ(detect({.models_body = "[[[[", .metrics_body = "\xff\xfe"}), Kind::openai);
}

TEST(ReadModels, GivesIdsAndContexts) {
  const auto models = read_models(wire("sglang/models.json"));
  ASSERT_TRUE(models.has_value());
  ASSERT_EQ(models->size(), 1U);
  EXPECT_EQ((*models)[0].id, "org/big");
  EXPECT_EQ((*models)[0].max_model_len, Tokens(32768));
  const auto llama = read_models(wire_body("llama_cpp/models.http"));
  ASSERT_TRUE(llama.has_value());
  EXPECT_EQ((*llama)[0].id, "tiny");
  EXPECT_EQ((*llama)[0].max_model_len, Tokens(8192)) << "of a slot, not of training";
  const auto tgi = read_models(wire("tgi/models.json"));
  ASSERT_TRUE(tgi.has_value());
  EXPECT_EQ((*tgi)[0].max_model_len, std::nullopt);
}

TEST(ReadModels, ListsAdaptersAndEachIdOnce) {
  const auto models = read_models(R"({"data":[{"id":"base"},{"id":"lora","parent":"base"},{"id":"base"}]})");
  ASSERT_TRUE(models.has_value());
  ASSERT_EQ(models->size(), 2U);
  EXPECT_EQ((*models)[1].id, "lora");
}

TEST(ReadModels, RefusesWhatIsNoList) {
  for (const auto* body : {"", "no", "{}", R"({"data":{}})", R"({"data":[{"name":"x"}]})", R"({"data":["x"]})",
                           R"({"error":"Unauthorized"})"}) {
    EXPECT_FALSE(read_models(body).has_value()) << body;
  }
  EXPECT_FALSE(read_models(fmt::format(R"({{"data":[{{"id":"{}"}}]}})", std::string(513, 'x'))).has_value());
  std::string many = R"({"data":[)";
  for (std::size_t i = 0; i <= max_model_cards; ++i) many += fmt::format(R"({}{{"id":"m{}"}})", i == 0 ? "" : ",", i);
  EXPECT_FALSE(read_models(many + "]}").has_value());
}

TEST(Version, IsReadFromTheEnginesPage) {
  EXPECT_EQ(read_version(R"({"version":"0.11.0"})"), "0.11.0");
  EXPECT_EQ(read_version(R"({"version":7})"), "");
  EXPECT_EQ(read_version("{}"), "");
  EXPECT_EQ(read_version(""), "");
  EXPECT_EQ(read_version("not found"), "");
  EXPECT_EQ(read_version(R"({"version":")" + std::string(500, 'x') + "\"}").size(), 128U);
}

}  // namespace
}  // namespace evenkeel::engines
