#include "http/message.hpp"

#include <string>

#include <gtest/gtest.h>

namespace evenkeel::http {
namespace {

using Direction = MessageParser::Direction;

TEST(MessageParser, SeesTheSameHeadHoweverTheReadsCutIt) {
  const std::string bytes =
      "\r\nPOST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a:1\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello";
  const std::size_t head_size = bytes.size() - 5;
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    MessageParser parser(Direction::request);
    ParseStatus status = ParseStatus::need_more;
    std::size_t end = 0;
    std::string buffer;  // moves as it grows
    while (status == ParseStatus::need_more && end < bytes.size()) {
      end = std::min(end + step, bytes.size());
      buffer = bytes.substr(0, end);
      status = parser.parse_head(buffer);
    }
    ASSERT_EQ(status, ParseStatus::done) << "step " << step << ": " << parser.complaint();
    const Head& head = parser.head();
    EXPECT_EQ(head.method.in(buffer), "POST");
    EXPECT_EQ(head.target.in(buffer), "/v1/chat/completions?x=1");
    EXPECT_EQ(head.find(buffer, "HOST"), "a:1");
    EXPECT_EQ(head.find(buffer, "x-empty"), "");
    EXPECT_FALSE(head.find(buffer, "absent").has_value());
    EXPECT_EQ(head.body, BodyKind::length);
    EXPECT_EQ(head.content_length, 5U);
    EXPECT_EQ(head.size, head_size);
    EXPECT_TRUE(head.keep_alive);
  }
}

TEST(MessageParser, RefusesWhatTwoParsersCouldReadInTwoWays) {
  const char* const requests[] = {
      "GET / HTTP/1.1\nHost: a\r\n\r\n",                                            // LF alone
      "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",                               // obs-fold
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"  // both lengths
      ,
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
      "GET / HTTP/1.1\r\nBad Name: 1\r\n\r\n",
      "GET / HTTP/1.1\r\nName : 1\r\n\r\n",
      "GET / HTTP/2.0\r\n\r\n",
      "GET / HTTP/1.9\r\n\r\n",
      "GARBAGE\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\0b\r\n\r\n",
  };
  for (const char* request : requests) {
    std::string bytes = request;
    if (bytes.ends_with("X: a")) bytes = std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26);
    MessageParser parser(Direction::request);
    EXPECT_EQ(parser.parse_head(bytes), ParseStatus::malformed) << bytes;
    EXPECT_FALSE(parser.complaint().empty()) << bytes;
  }
}

TEST(MessageParser, BoundsTheHead) {
  MessageParser parser(Direction::request, {.bytes = 100, .fields = 3});
  EXPECT_EQ(parser.parse_head("GET / HTTP/1.1\r\nX: " + std::string(200, 'x')), ParseStatus::too_large);
  MessageParser many(Direction::request, {.bytes = 1000, .fields = 3});
  EXPECT_EQ(many.parse_head("GET / HTTP/1.1\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\n\r\n"), ParseStatus::too_large);
}

TEST(MessageParser, TellsHowAResponseEnds) {
  const auto kind = [](const std::string& bytes) {
    MessageParser parser(Direction::response);
    EXPECT_EQ(parser.parse_head(bytes), ParseStatus::done) << parser.complaint();
    return parser.head().body;
  };
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), BodyKind::length);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), BodyKind::chunked);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\n\r\n"), BodyKind::until_close);
  EXPECT_EQ(kind("HTTP/1.1 204 No Content\r\n\r\n"), BodyKind::none);
  EXPECT_EQ(kind("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"), BodyKind::none);
  EXPECT_EQ(kind("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), BodyKind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), BodyKind::none);
}

TEST(MessageParser, DecodesChunksCutAnywhere) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = "5\r\nhello\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nNEXT";
  for (std::size_t step = 1; step <= body.size(); ++step) {
    MessageParser parser(Direction::response);
    ASSERT_EQ(parser.parse_head(head), ParseStatus::done);
    std::string data;
    std::size_t at = 0;
    MessageParser::Chunks chunks;
    while (chunks.status == ParseStatus::need_more && at < body.size()) {
      std::vector<std::string_view> spans;
      const auto piece = std::string_view(body).substr(at, step);
      chunks = parser.decode_chunks(piece, spans);
      for (const auto span : spans) data += span;
      at += chunks.consumed;
    }
    ASSERT_EQ(chunks.status, ParseStatus::done) << step;
    EXPECT_EQ(data, "hello0123456789");
    EXPECT_EQ(body.substr(at), "NEXT");
  }
}

TEST(MessageParser, RefusesChunkTricks) {
  for (const char* body : {"0x5\r\nhello\r\n", "-1\r\n", "fffffffffffffffff\r\n", "5\r\nhelloX\r\n", "\r\n",
                           "5 \r\nhello\r\n", "5\nhello\n"}) {
    MessageParser parser(Direction::response);
    ASSERT_EQ(parser.parse_head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), ParseStatus::done);
    std::vector<std::string_view> spans;
    EXPECT_EQ(parser.decode_chunks(body, spans).status, ParseStatus::malformed) << body;
  }
}

TEST(MessageParser, GoesOnToTheNextMessage) {
  MessageParser parser(Direction::request);
  const std::string two = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.0\r\n\r\n";
  ASSERT_EQ(parser.parse_head(two), ParseStatus::done);
  const std::string rest = two.substr(parser.head().size);
  parser.next();
  ASSERT_EQ(parser.parse_head(rest), ParseStatus::done);
  EXPECT_EQ(parser.head().target.in(rest), "/b");
  EXPECT_FALSE(parser.head().keep_alive);
}

}  // namespace
}  // namespace evenkeel::http
