#include "engines/errors.hpp"

#include <gtest/gtest.h>

#include "engines/wire_support.hpp"

namespace evenkeel::engines {
namespace {

using fleet::Outcome;

TEST(ClassifyAnswer, ByStatus) {
  for (const Kind kind : {Kind::vllm, Kind::sglang, Kind::llama_cpp, Kind::tgi, Kind::openai}) {
    EXPECT_EQ(classify_answer(kind, 200, "overloaded"), Outcome::completed);
    EXPECT_EQ(classify_answer(kind, 307, ""), Outcome::completed);
    for (const int status : {400, 401, 403, 404, 413, 415, 422, 499}) {
      EXPECT_EQ(classify_answer(kind, status, ""), Outcome::client_fault) << status;
    }
    for (const int status : {408, 429}) EXPECT_EQ(classify_answer(kind, status, ""), Outcome::back_pressure) << status;
    for (const int status : {500, 501, 502, 503, 504, 529}) {
      EXPECT_EQ(classify_answer(kind, status, ""), Outcome::worker_fault) << status;
    }
  }
}

TEST(ClassifyAnswer, TheSameStatusByItsWords) {
  EXPECT_EQ(classify_answer(Kind::sglang, 503, wire("sglang/error_queue_full.json")), Outcome::back_pressure);
  EXPECT_EQ(classify_answer(Kind::sglang, 503, "The request is aborted by a higher priority request."),
            Outcome::back_pressure);
  EXPECT_EQ(classify_answer(Kind::sglang, 503, "Request waiting timeout reached."), Outcome::back_pressure);
  EXPECT_EQ(classify_answer(Kind::openai, 503, "server busy, please try again. maximum pending requests exceeded"),
            Outcome::back_pressure);
  EXPECT_EQ(classify_answer(Kind::llama_cpp, 503,
                            R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})"),
            Outcome::worker_fault);
  EXPECT_EQ(classify_answer(Kind::vllm, 503, R"({"error":"The model is currently scaling. Please try again later."})"),
            Outcome::worker_fault);
  EXPECT_EQ(classify_answer(Kind::sglang, 500, "The request queue is full."), Outcome::worker_fault)
      << "a 500 is no refusal, whatever it says";
  EXPECT_EQ(classify_answer(Kind::tgi, 424, wire("tgi/error_generation.sse")), Outcome::worker_fault);
  EXPECT_EQ(classify_answer(Kind::openai, 424, ""), Outcome::client_fault);
}

TEST(ClassifyAnswer, APromptThatIsTooLongIsNotHeldAgainstTheWorker) {
  const char* body =
      R"({"error":{"message":"This model's maximum context length is 4096 tokens, not 9000.",
    "type":"InternalServerError","param":null,"code":500}})";
  EXPECT_EQ(classify_answer(Kind::vllm, 500, body), Outcome::client_fault);
  EXPECT_EQ(classify_answer(Kind::vllm, 500, R"({"error":{"message":"EngineCore died"}})"), Outcome::worker_fault);
}

TEST(ClassifyAnswer, LooksAtABoundedPrefix) {
  EXPECT_EQ(classify_answer(Kind::sglang, 503, std::string(5000, 'x') + "queue is full"), Outcome::worker_fault);
}

struct ErrorCase {
  const char* data;
  int status;
  const char* message;
};

class ErrorEventShapes : public testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorEventShapes, AreRead) {
  const auto event = read_error_event(GetParam().data);
  ASSERT_TRUE(event.has_value()) << GetParam().data;
  EXPECT_EQ(event->status, GetParam().status) << GetParam().data;
  EXPECT_EQ(event->message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, ErrorEventShapes,
    testing::Values(
        // vLLM now, and flat as before August 2025
        ErrorCase{R"({"error":{"message":"boom","type":"InternalServerError","param":null,"code":500}})", 500, "boom"},
        ErrorCase{R"({"error":{"message":"rank","type":"BadRequestError","param":null,"code":400}})", 400, "rank"},
        ErrorCase{R"({"object":"error","message":"long","type":"BadRequestError","param":null,"code":400})", 400,
                  "long"},
        // its Rust frontend: the code is a word, or digits
        ErrorCase{R"({"error":{"message":"who","type":"invalid_request_error","code":"model_not_found"}})", 404, "who"},
        ErrorCase{R"({"error":{"message":"x","type":"invalid_request_error","code":"something_new"}})", 400, "x"},
        ErrorCase{R"({"error":{"message":"x","type":"server_error","code":"503"}})", 503, "x"},
        ErrorCase{R"({"error":"Unauthorized"})", 500, "Unauthorized"},
        // SGLang
        ErrorCase{R"({"error":{"object":"error","message":"full","type":"SERVICE_UNAVAILABLE","code":503}})", 503,
                  "full"},
        ErrorCase{R"({"error":{"message":"full","type":"SERVICE_UNAVAILABLE"}})", 503, "full"},
        // llama.cpp
        ErrorCase{R"({"error":{"code":400,"message":"ctx","type":"exceed_context_size_error","n_ctx":512}})", 400,
                  "ctx"},
        // TGI: streamed on /v1, native
        ErrorCase{R"({"error":{"message":"Input validation error","http_status_code":422}})", 422,
                  "Input validation error"},
        ErrorCase{R"({"error":"Model is overloaded","error_type":"overloaded"})", 429, "Model is overloaded"},
        ErrorCase{R"({"error":"Request failed","error_type":"generation"})", 424, "Request failed"},
        // Ollama, Anthropic's shape, Responses
        ErrorCase{R"({"error":{"message":"m","type":"api_error","param":null,"code":null}})", 500, "m"},
        ErrorCase{R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})", 529, "busy"},
        ErrorCase{R"({"type":"error","code":"rate_limit_exceeded","message":"slow","sequence_number":1})", 429, "slow"},
        ErrorCase{R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"cuda"}}})", 500,
                  "cuda"},
        // codes that are no status, and none at all
        ErrorCase{R"({"error":{"message":"z","code":0}})", 500, "z"}, ErrorCase{R"({"error":{"code":200}})", 500, ""},
        ErrorCase{R"({"error":{"code":99999999999}})", 500, ""}, ErrorCase{R"({"error":{}})", 500, ""}));

TEST(ErrorEvent, ReadsTheTranscripts) {
  EXPECT_EQ(read_error_event(first_data("sglang/error_queue_full.sse"))->status, 503);
  EXPECT_EQ(read_error_event(wire("sglang/error_queue_full.json"))->status, 503);
  EXPECT_EQ(read_error_event(first_data("tgi/error_overloaded.sse"))->status, 429);
  EXPECT_EQ(read_error_event(wire("tgi/error_overloaded.json"))->status, 429);
  EXPECT_EQ(read_error_event(first_data("tgi/error_generation.sse"))->status, 424);
  EXPECT_EQ(read_error_event(wire_body("llama_cpp/error_context.http"))->status, 400);
}

TEST(ErrorEvent, OverloadOnAStreamIsBackPressureAgain) {
  for (const auto& [kind, path] :
       {std::pair{Kind::sglang, "sglang/error_queue_full.sse"}, {Kind::tgi, "tgi/error_overloaded.sse"}}) {
    const std::string data = first_data(path);
    EXPECT_EQ(classify_answer(kind, read_error_event(data)->status, data), Outcome::back_pressure) << path;
  }
  const std::string failed = first_data("tgi/error_generation.sse");
  EXPECT_EQ(classify_answer(Kind::tgi, read_error_event(failed)->status, failed), Outcome::worker_fault);
}

TEST(ErrorEvent, IsNotSeenInAnswers) {
  for (const auto* data :
       {R"({"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"{\"error\":{\"code\":500}}"}}]})",
        R"({"id":"chatcmpl-1","choices":[],"error":null})",
        R"({"type":"response.completed","response":{"status":"completed","error":null}})",
        R"({"choices":[{"delta":{"tool_calls":[{"arguments":"\"error\""}],"error":{"code":400}}}]})",
        R"({"object":"chat.completion.chunk","type":"error_free","error":false})", R"(["error"])", R"({"error":)",
        "[DONE]", ""}) {
    EXPECT_FALSE(read_error_event(data).has_value()) << data;
  }
}

}  // namespace
}  // namespace evenkeel::engines
