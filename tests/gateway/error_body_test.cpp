#include "gateway/error_body.hpp"

#include <simdjson.h>

#include <string>

#include <gtest/gtest.h>

#include "http/sse.hpp"

namespace evenkeel::gateway {
namespace {

const std::string nasty = "quote \" backslash \\ line\nfeed tab\t nul" + std::string(1, '\0') + " \xC3\xA9";

ApiError failure_of(int status) { return {status, "invalid_request_error", nasty, "model", "model_not_found"}; }

class Parsed {
 public:
  explicit Parsed(const std::string& json) { EXPECT_EQ(parser_.parse(json).get(root_), simdjson::SUCCESS) << json; }
  std::string text(std::string_view pointer) {
    std::string_view value;
    EXPECT_EQ(root_.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer;
    return std::string(value);
  }
  bool null(std::string_view pointer) { return root_.at_pointer(pointer).is_null(); }
  std::size_t members(std::string_view pointer) { return simdjson::dom::object(root_.at_pointer(pointer)).size(); }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

TEST(ErrorBody, OpenAisShapeHasItsFourMembersAlways) {
  for (const Dialect dialect : {Dialect::openai, Dialect::responses, Dialect::opaque}) {
    Parsed full(error_body(dialect, failure_of(404)));
    EXPECT_EQ(full.members("/error"), 4U);
    EXPECT_EQ(full.text("/error/message"), nasty);
    EXPECT_EQ(full.text("/error/type"), "invalid_request_error");
    EXPECT_EQ(full.text("/error/param"), "model");
    EXPECT_EQ(full.text("/error/code"), "model_not_found");
    Parsed bare(error_body(dialect, {.status = 500, .message = "m"}));
    EXPECT_EQ(bare.text("/error/type"), "server_error");
    EXPECT_TRUE(bare.null("/error/param"));
    EXPECT_TRUE(bare.null("/error/code"));
  }
}

// The types by status: Anthropic's API documentation, "Errors".
TEST(ErrorBody, AnthropicsShapeNamesTheTypeByTheStatus) {
  const std::pair<int, std::string> types[] = {{400, "invalid_request_error"},
                                               {401, "authentication_error"},
                                               {403, "permission_error"},
                                               {404, "not_found_error"},
                                               {413, "request_too_large"},
                                               {429, "rate_limit_error"},
                                               {500, "api_error"}};
  for (const auto& [status, type] : types) {
    Parsed body(error_body(Dialect::messages, failure_of(status)));
    EXPECT_EQ(body.text("/type"), "error");
    EXPECT_EQ(body.text("/error/type"), type);
    EXPECT_EQ(body.text("/error/message"), nasty);
  }
}

TEST(ErrorBody, AnEventIsOneEventWithTheBodyAsItsData) {
  for (const Dialect dialect : {Dialect::openai, Dialect::messages, Dialect::responses, Dialect::opaque}) {
    const std::string event = error_event(dialect, failure_of(502));
    http::EventBoundaries boundaries;
    EXPECT_EQ(boundaries.next(event, 0), event.size());
    const http::EventView view = http::view_event(event);
    const bool named = dialect == Dialect::messages || dialect == Dialect::responses;
    EXPECT_EQ(view.name, named ? "error" : "");
    Parsed data{std::string(view.data)};
    if (dialect == Dialect::responses) {
      EXPECT_EQ(data.text("/type"), "error");
      EXPECT_EQ(data.text("/message"), nasty);
      EXPECT_EQ(data.text("/code"), "model_not_found");
      EXPECT_EQ(data.text("/param"), "model");
    } else {
      EXPECT_EQ(view.data, error_body(dialect, failure_of(502)));
    }
  }
}

}  // namespace
}  // namespace evenkeel::gateway
