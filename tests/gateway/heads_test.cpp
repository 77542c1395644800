#include "gateway/heads.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/message.hpp"

namespace evenkeel::gateway {
namespace {

/// A head as its reader sees it: first line and fields, in order. Written here apart from the library's parser.
struct Lines {
  explicit Lines(const std::string& head) {
    EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
    std::size_t at = head.find("\r\n");
    first = head.substr(0, at);
    for (at += 2; head.compare(at, 2, "\r\n") != 0;) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      fields.emplace_back(head.substr(at, colon - at), head.substr(colon + 2, end - colon - 2));
      at = end + 2;
    }
  }
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& [key, value] : fields) {
      if (equals_ignoring_case(key, name)) values.push_back(value);
    }
    return values;
  }
  std::string first;
  std::vector<std::pair<std::string, std::string>> fields;
};

using Values = std::vector<std::string>;

class Heads : public ::testing::Test {
 protected:
  /// The head that goes up for a client's request with these fields.
  Lines up(const std::string& fields, const std::string& target = "/v1/chat/completions",
           const std::string& method = "POST") {
    parse(parser_, method + " " + target + " HTTP/1.1\r\nHost: client.example\r\n" + fields + "\r\n");
    request_.method = method;
    request_.target = parser_.head().target.in(bytes_);
    request_.path = request_.target.substr(0, request_.target.find('?'));
    request_.id = "id-1";
    std::string out;
    append_upstream_head(out, request_, upstream_, settings_);
    return Lines(out);
  }
  /// The head that the client gets for an engine's answer with these fields.
  Lines down(const std::string& fields, const AnswerStyle& style, const std::string& status = "200 OK") {
    const std::string answer = "HTTP/1.1 " + status + "\r\n" + fields + "\r\n";
    http::MessageParser parser(http::MessageParser::Direction::response);
    EXPECT_EQ(parser.parse_head(answer), http::ParseStatus::done) << parser.complaint();
    std::string out;
    append_answer_head(out, parser.head(), answer, request_, settings_, style);
    return Lines(out);
  }
  void parse(http::MessageParser& parser, const std::string& head) {
    parser.next();
    bytes_ = head;
    ASSERT_EQ(parser.parse_head(bytes_), http::ParseStatus::done) << parser.complaint();
    request_.head = &parser.head();
    request_.head_bytes = bytes_;
  }

  http::MessageParser parser_{http::MessageParser::Direction::request};
  std::string bytes_;
  Request request_;
  Upstream upstream_{.name = "w", .authority = "engine:8000"};
  config::ServeSettings settings_;
};

TEST_F(Heads, EndToEndFieldsPassAndOursAreSaidOnce) {
  request_.up_length = 17;
  const Lines head =
      up("X-Own: a\r\nx-own: b\r\nContent-Type: application/json\r\nContent-Length: 99\r\nAccept-Encoding: gzip\r\n"
         "Expect: 100-continue\r\nX-Request-Id: theirs\r\n");
  EXPECT_EQ(head.first, "POST /v1/chat/completions HTTP/1.1");
  EXPECT_EQ(head.all("x-own"), (Values{"a", "b"}));
  EXPECT_EQ(head.all("content-type"), Values{"application/json"});
  EXPECT_EQ(head.all("host"), Values{"engine:8000"});
  EXPECT_EQ(head.all("content-length"), Values{"17"});
  EXPECT_EQ(head.all("accept-encoding"), Values{"identity"});
  EXPECT_EQ(head.all("expect"), Values{});
  EXPECT_EQ(head.all("x-request-id"), Values{"id-1"});
}

TEST_F(Heads, HopByHopFieldsAndWhatConnectionNamesStayHere) {
  const std::string fields =
      "Connection: close, X-Secret ,keep-alive\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nTE: "
      "trailers\r\n"
      "Trailer: X\r\nProxy-Authorization: x\r\nProxy-Authenticate: x\r\nX-Secrets: stays\r\n";
  const Values gone = {"connection", "x-secret", "keep-alive",          "proxy-connection",
                       "te",         "trailer",  "proxy-authorization", "proxy-authenticate"};
  const Lines head = up(fields);
  for (const auto& name : gone) EXPECT_EQ(head.all(name), Values{}) << name;
  EXPECT_EQ(head.all("x-secrets"), Values{"stays"});
  const Lines answer = down(fields + "Content-Length: 5\r\n", {.framing = Framing::length, .length = 5});
  for (const auto& name : gone) EXPECT_EQ(answer.all(name), Values{}) << name;
  EXPECT_EQ(answer.all("x-secrets"), Values{"stays"});
}

TEST_F(Heads, RankAndOverrideFieldsAreForTrustedClientsOnly) {
  const std::string fields =
      "X-Data-Parallel-Rank: 3\r\nx-override-temperature: 0\r\nX-Bootstrap-Room: 7\r\nX-vLLM-Priority: 1\r\n";
  const Values names = {"x-data-parallel-rank", "x-override-temperature", "x-bootstrap-room", "x-vllm-priority"};
  for (const auto& name : names) EXPECT_EQ(up(fields).all(name), Values{}) << name;
  settings_.trust_client_transfer = true;
  for (const auto& name : names) EXPECT_EQ(up(fields).all(name).size(), 1U) << name;
}

TEST_F(Heads, ARankIsAddressedByTheRouterAlone) {
  upstream_.rank_field = "X-Data-Parallel-Rank: 5\r\n";
  const std::string fields = "x-data-parallel-rank: 3\r\nX-Own: a\r\nX-Override-Temperature: 0\r\n";
  Lines head = up(fields);
  EXPECT_EQ(head.all("x-data-parallel-rank"), Values{"5"});
  EXPECT_EQ(head.all("x-own"), Values{"a"});
  settings_.trust_client_transfer = true;
  head = up(fields);
  EXPECT_EQ(head.all("x-data-parallel-rank"), Values{"5"}) << "two of them would be anybody's guess";
  EXPECT_EQ(head.all("x-override-temperature"), Values{"0"});
}

TEST_F(Heads, KeysOfClientsPassOnlyIfToldAndNeverOverAWorkersOwn) {
  const std::string fields = "Authorization: Bearer client\r\nX-Api-Key: client\r\n";
  EXPECT_EQ(up(fields).all("authorization"), Values{});
  EXPECT_EQ(up(fields).all("x-api-key"), Values{});
  settings_.forward_authorization = true;
  EXPECT_EQ(up(fields).all("authorization"), Values{"Bearer client"});
  EXPECT_EQ(up(fields).all("x-api-key"), Values{"client"});
  upstream_.authorization = "Bearer worker";
  EXPECT_EQ(up(fields).all("authorization"), Values{"Bearer worker"});
}

TEST_F(Heads, TheTargetKeepsItsQueryAndLosesATrailingSlash) {
  EXPECT_EQ(up("", "/v1/chat/completions/?a=b/").first, "POST /v1/chat/completions?a=b/ HTTP/1.1");
  EXPECT_EQ(up("", "/", "GET").first, "GET / HTTP/1.1");
  upstream_.base_path = "/engine";
  EXPECT_EQ(up("", "/v1/models?x", "GET").first, "GET /engine/v1/models?x HTTP/1.1");
}

TEST_F(Heads, ABodyGoesUpWithOneFraming) {
  request_.chunked_up = true;
  Lines head = up("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(head.all("transfer-encoding"), Values{"chunked"});
  EXPECT_EQ(head.all("content-length"), Values{});
  request_.chunked_up = false;
  request_.up_length = 0;
  EXPECT_EQ(up("").all("content-length"), Values{"0"});  // a POST without a length is 411 to some
  EXPECT_EQ(up("", "/v1/x", "GET").all("content-length"), Values{});
}

TEST_F(Heads, AnAnswerKeepsItsStatusAndGetsOurFraming) {
  (void)up("");
  const Lines plain = down("Content-Length: 9\r\nX-Engine: e\r\nContent-Type: text/plain\r\n",
                           {.framing = Framing::length, .length = 9}, "418 Short And Stout");
  EXPECT_EQ(plain.first, "HTTP/1.1 418 Short And Stout");
  EXPECT_EQ(plain.all("content-length"), Values{"9"});
  EXPECT_EQ(plain.all("x-engine"), Values{"e"});
  EXPECT_EQ(plain.all("x-request-id"), Values{"id-1"});
  EXPECT_EQ(plain.all("connection"), Values{});
  const Lines stream = down("Transfer-Encoding: chunked\r\nCache-Control: max-age=9\r\nX-Accel-Buffering: yes\r\n",
                            {.framing = Framing::chunked, .keep_alive = false, .event_stream = true});
  EXPECT_EQ(stream.all("transfer-encoding"), Values{"chunked"});
  EXPECT_EQ(stream.all("cache-control"), Values{"no-cache"});
  EXPECT_EQ(stream.all("x-accel-buffering"), Values{"no"});
  EXPECT_EQ(stream.all("connection"), Values{"close"});
}

TEST_F(Heads, AnOldClientIsToldInItsOwnVersion) {
  (void)up("");
  request_.http10 = true;
  const Lines kept = down("Content-Length: 1\r\n", {.framing = Framing::length, .length = 1});
  EXPECT_EQ(kept.first, "HTTP/1.0 200 OK");
  EXPECT_EQ(kept.all("connection"), Values{"keep-alive"});
}

TEST_F(Heads, OriginsAreAnsweredAsConfiguredNotAsTheEngineSays) {
  const AnswerStyle style{.framing = Framing::length, .length = 0};
  const std::string engine = "Access-Control-Allow-Origin: https://engine\r\nContent-Length: 0\r\n";
  (void)up("Origin: https://app\r\n");
  EXPECT_EQ(down(engine, style).all("access-control-allow-origin"), Values{"*"});
  settings_.cors_origins = {"https://app"};
  EXPECT_EQ(down(engine, style).all("access-control-allow-origin"), Values{"https://app"});
  EXPECT_EQ(down(engine, style).all("vary"), Values{"Origin"});
  settings_.cors_origins = {"https://other"};
  EXPECT_EQ(down(engine, style).all("access-control-allow-origin"), Values{});
}

TEST_F(Heads, TheReceiptIsOursAndCanBeSwitchedOff) {
  (void)up("");
  request_.attempts = 2;
  request_.worker = "w";
  request_.queued = std::chrono::milliseconds(12);
  request_.receipt.policy = "least_wait";
  request_.receipt.reason = "only";
  request_.receipt.candidates = 3;
  request_.receipt.signal_age = Duration(-1);
  const std::string engine = "X-Evenkeel-Worker: forged\r\nContent-Length: 0\r\n";
  const AnswerStyle style{.framing = Framing::length};
  const Lines answer = down(engine, style);
  const std::map<std::string, std::string> expected = {
      {"x-evenkeel-policy", "least_wait"}, {"x-evenkeel-reason", "only"},  {"x-evenkeel-worker", "w"},
      {"x-evenkeel-candidates", "3"},      {"x-evenkeel-waited-ms", "12"}, {"x-evenkeel-signal-age-ms", "none"},
      {"x-evenkeel-attempt", "2"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(answer.all(name), Values{value}) << name;
  settings_.receipts = false;
  for (const auto& [name, value] : expected) EXPECT_EQ(down(engine, style).all(name), Values{}) << name;
}

}  // namespace
}  // namespace evenkeel::gateway
