#include "gateway/endpoint.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

TEST(Endpoint, PathsGoToTheirRoutes) {
  const auto expect = [](std::string_view path, Route route, Dialect dialect, std::string_view label) {
    const Endpoint found = find_endpoint(path);
    EXPECT_EQ(found.route, route) << path;
    EXPECT_EQ(found.dialect, dialect) << path;
    EXPECT_EQ(found.label, label) << path;
  };
  for (const std::string_view path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank",
                                      "/rerank", "/v1/score", "/tokenize", "/detokenize"}) {
    expect(path, Route::model_body, Dialect::openai, path);
  }
  expect("/v1/responses", Route::model_body, Dialect::responses, "/v1/responses");
  expect("/v1/messages", Route::model_body, Dialect::messages, "/v1/messages");
  expect("/v1/models", Route::models, Dialect::openai, "/v1/models");
  expect("/health", Route::health, Dialect::opaque, "/health");
  expect("/v1/chat/completions/", Route::model_body, Dialect::openai, "/v1/chat/completions");
  expect("/v1/chat/completions//", Route::other, Dialect::opaque, "/v1/*");
  expect("/v1/audio/transcriptions", Route::multipart, Dialect::opaque, "/v1/audio");
  expect("/v1/files", Route::other, Dialect::opaque, "/v1/*");
  for (const std::string_view path :
       {"", "/", "/v1", "/v2/chat", "/V1/models", "/chat/completions", "/metricsx", "*"}) {
    expect(path, Route::unknown, Dialect::opaque, "other");
  }
}

TEST(Endpoint, PathsBetweenRoutersAreThereWithPeersOnly) {
  for (const std::string_view path : {"/status", "/capabilities", "/peers/news"}) {
    EXPECT_EQ(find_endpoint(path).route, Route::unknown) << path;
    EXPECT_EQ(find_endpoint(path).label, "other") << path;
    EXPECT_EQ(find_endpoint(path, true).label, path) << path;
  }
  EXPECT_EQ(find_endpoint("/status/", true).route, Route::peer_status);
  EXPECT_EQ(find_endpoint("/capabilities", true).route, Route::peer_capabilities);
  EXPECT_EQ(find_endpoint("/peers/news", true).route, Route::peer_news);
  EXPECT_EQ(find_endpoint("/peers", true).route, Route::unknown);
}

TEST(Endpoint, ResponseIdsAreReadFromThePath) {
  for (const std::string_view path : {"/v1/responses/resp_1", "/v1/responses/resp_1/", "/v1/responses/resp_1/cancel"}) {
    EXPECT_EQ(find_endpoint(path).route, Route::response_id) << path;
    EXPECT_EQ(find_endpoint(path).id, "resp_1") << path;
  }
  EXPECT_EQ(find_endpoint("/v1/responses//cancel").route, Route::other);
}

}  // namespace
}  // namespace evenkeel::gateway
