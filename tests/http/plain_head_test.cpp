#include "http/plain_head.hpp"

#include <llhttp.h>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::http {
namespace {

/// What llhttp alone says of a head: the judge that the shortcut must never contradict.
struct Judged {
  bool accepted = false;
  std::string first, second;  ///< method and target, or reason
  int status = 0;
  bool keep_alive = false, chunked = false, upgrade = false, has_length = false;
  std::uint64_t length = 0;
  std::size_t size = 0;
  std::vector<std::pair<std::string, std::string>> fields;
};

Judged judge(const std::string& bytes, bool request) {
  struct State {
    Judged judged;
    std::string name, value;
  } state;
  llhttp_settings_t settings;
  llhttp_settings_init(&settings);
  const auto of = [](llhttp_t* p) -> State& { return *static_cast<State*>(p->data); };
  static const auto get = of;
  settings.on_method = [](llhttp_t* p, const char* at, std::size_t n) { return get(p).judged.first.append(at, n), 0; };
  settings.on_url = [](llhttp_t* p, const char* at, std::size_t n) { return get(p).judged.second.append(at, n), 0; };
  settings.on_status = [](llhttp_t* p, const char* at, std::size_t n) { return get(p).judged.second.append(at, n), 0; };
  settings.on_header_field = [](llhttp_t* p, const char* at, std::size_t n) { return get(p).name.append(at, n), 0; };
  settings.on_header_value = [](llhttp_t* p, const char* at, std::size_t n) { return get(p).value.append(at, n), 0; };
  settings.on_header_value_complete = [](llhttp_t* p) {
    State& s = get(p);
    s.judged.fields.emplace_back(std::exchange(s.name, {}), std::exchange(s.value, {}));
    return 0;
  };
  settings.on_headers_complete = [](llhttp_t* p) { return get(p).judged.accepted = true, int{HPE_PAUSED}; };
  llhttp_t parser;
  llhttp_init(&parser, request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
  parser.data = &state;
  (void)llhttp_execute(&parser, bytes.data(), bytes.size());
  Judged judged = std::move(state.judged);
  if (!judged.accepted) return judged;
  judged.size = static_cast<std::size_t>(llhttp_get_error_pos(&parser) - bytes.data());
  judged.status = parser.status_code;
  judged.keep_alive = parser.http_minor == 1 && (parser.flags & F_CONNECTION_CLOSE) == 0;
  judged.chunked = (parser.flags & F_TRANSFER_ENCODING) != 0;
  judged.upgrade = parser.upgrade != 0;
  judged.has_length = (parser.flags & F_CONTENT_LENGTH) != 0;
  judged.length = judged.has_length ? parser.content_length : 0;
  return judged;
}

void expect_same(const std::string& bytes, bool request, const Head& head) {
  const Judged judged = judge(bytes, request);
  ASSERT_TRUE(judged.accepted) << bytes;
  if (request) {
    EXPECT_EQ(head.method.in(bytes), judged.first) << bytes;
    EXPECT_EQ(head.target.in(bytes), judged.second) << bytes;
  } else {
    EXPECT_EQ(head.status, judged.status) << bytes;
    EXPECT_EQ(head.reason.in(bytes), judged.second) << bytes;
  }
  EXPECT_TRUE(judged.keep_alive && !judged.chunked && !judged.upgrade) << bytes;
  EXPECT_EQ(head.has(FieldName::content_length), judged.has_length) << bytes;
  EXPECT_EQ(head.content_length, judged.length) << bytes;
  EXPECT_EQ(head.size, judged.size) << bytes;
  ASSERT_EQ(head.fields.size(), judged.fields.size()) << bytes;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    EXPECT_EQ(head.fields[i].name.in(bytes), judged.fields[i].first) << bytes;
    EXPECT_EQ(head.fields[i].value.in(bytes), judged.fields[i].second) << bytes;
  }
}

bool read_plain(const std::string& bytes, bool request, Head& head, const HeadLimits& limits = {}) {
  head.clear();
  return request ? read_plain_request_head(bytes, limits, head) : read_plain_response_head(bytes, limits, head);
}

const std::string everyday_request =
    "POST /v1/chat/completions?a=b HTTP/1.1\r\nHost: 127.0.0.1:30000\r\nUser-Agent: OpenAI/Python 1.2.3\r\n"
    "Accept: */*\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: 720\r\n\r\n{";
const std::string everyday_answer =
    "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 09:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: 600\r\n"
    "content-type: application/json\r\n\r\n{";

TEST(PlainHead, ReadsEverydayHeadsAsLlhttpDoes) {
  Head head;
  ASSERT_TRUE(read_plain(everyday_request, true, head));
  expect_same(everyday_request, true, head);
  ASSERT_TRUE(read_plain(everyday_answer, false, head));
  expect_same(everyday_answer, false, head);
}

TEST(PlainHead, LeavesToLlhttpWhatItCannotBeSureOf) {
  Head head;
  for (std::size_t size = 0; size + 1 < everyday_request.size(); ++size)
    EXPECT_FALSE(read_plain(everyday_request.substr(0, size), true, head)) << size;
  const char* const fields[] = {"Transfer-Encoding: chunked\r\n",
                                "Connection: close\r\n",
                                "Connection: keep-alive, X\r\n",
                                "Upgrade: h2c\r\n",
                                "Proxy-Connection: close\r\n",
                                "Content-Length: +1\r\n",
                                "Content-Length: 1, 1\r\n",
                                "Content-Length:\r\n",
                                "Content-Length: 0x1\r\n",
                                "X: trailing \r\n",
                                "X : 1\r\n",
                                "X: a\r\n folded\r\n",
                                "X: a\n",
                                "X: \x01\r\n",
                                ": no name\r\n",
                                "X: caf\xC3\xA9\r\n",
                                "X: a\rb\r\n",
                                "Content-Length: 1000000000000000\r\n"};
  for (const std::string field : fields) {
    EXPECT_FALSE(read_plain("GET / HTTP/1.1\r\n" + field + "\r\n", true, head)) << field;
    EXPECT_FALSE(read_plain("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + field + "\r\n", false, head)) << field;
  }
  for (const char* line : {"GET / HTTP/1.0", "GET  / HTTP/1.1", "GET * HTTP/1.1", "GET http://a/ HTTP/1.1",
                           "get / HTTP/1.1", "\r\nGET / HTTP/1.1", "GET /# HTTP/1.1", "CONNECT a:1 HTTP/1.1"})
    EXPECT_FALSE(read_plain(std::string(line) + "\r\n\r\n", true, head)) << line;
  for (const char* line : {"HTTP/1.0 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 101 Upgrade", "HTTP/1.1 20 OK",
                           "HTTP/1.1 2000 OK", "HTTP/1.1 200", "HTTP/1.1 200 "})
    EXPECT_FALSE(read_plain(std::string(line) + "\r\nContent-Length: 1\r\n\r\n", false, head)) << line;
  EXPECT_FALSE(read_plain("HTTP/1.1 200 OK\r\n\r\n", false, head));  // its end is the connection's
}

TEST(PlainHead, KeepsTheLimits) {
  Head head;
  const std::string bytes = "GET / HTTP/1.1\r\na: 1\r\nb: 1\r\n\r\n";
  EXPECT_TRUE(read_plain(bytes, true, head, {.bytes = bytes.size(), .fields = 2}));
  EXPECT_FALSE(read_plain(bytes, true, head, {.bytes = bytes.size() - 1, .fields = 2}));
  EXPECT_FALSE(read_plain(bytes, true, head, {.bytes = bytes.size(), .fields = 1}));
}

TEST(PlainHead, NeverContradictsLlhttpOnDamagedHeads) {
  Random random(11);
  const std::string pieces[] = {"\r\n",
                                "\n",
                                "\r",
                                ":",
                                " ",
                                "\t",
                                "Content-Length: 5\r\n",
                                "Transfer-Encoding: chunked\r\n",
                                "Connection: close\r\n",
                                "X-Empty:\r\n",
                                "/",
                                "?",
                                "\x80",
                                "\x7f",
                                "HTTP/1.1",
                                "0",
                                "%"};
  std::size_t read = 0;
  for (int round = 0; round < 60000; ++round) {
    const bool request = round % 2 == 0;
    std::string bytes = request ? everyday_request : everyday_answer;
    for (std::uint64_t edits = random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.erase(at, 1 + random.below(8)); break;
        case 2: bytes.insert(at, pieces[random.below(std::size(pieces))]); break;
        default: bytes.insert(at, 1, static_cast<char>(random.below(128)));
      }
    }
    Head head;
    if (!read_plain(bytes, request, head)) continue;
    ++read;
    expect_same(bytes, request, head);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(read, 10000U);  // the shortcut was taken often enough to mean something
}

TEST(PlainHead, TellsFieldNamesApartWhateverTheirCase) {
  const std::pair<const char*, FieldName> names[] = {{"Accept-Encoding", FieldName::accept_encoding},
                                                     {"AUTHORIZATION", FieldName::authorization},
                                                     {"cache-control", FieldName::cache_control},
                                                     {"Connection", FieldName::connection},
                                                     {"Content-Encoding", FieldName::content_encoding},
                                                     {"CONTENT-length", FieldName::content_length},
                                                     {"Content-Type", FieldName::content_type},
                                                     {"Expect", FieldName::expect},
                                                     {"hOST", FieldName::host},
                                                     {"Keep-Alive", FieldName::keep_alive},
                                                     {"Origin", FieldName::origin},
                                                     {"Proxy-Authenticate", FieldName::proxy_authenticate},
                                                     {"Proxy-Connection", FieldName::proxy_connection},
                                                     {"Proxy-Authorization", FieldName::proxy_authorization},
                                                     {"TE", FieldName::te},
                                                     {"Trailer", FieldName::trailer},
                                                     {"Upgrade", FieldName::upgrade},
                                                     {"Transfer-Encoding", FieldName::transfer_encoding},
                                                     {"X-Accel-Buffering", FieldName::x_accel_buffering},
                                                     {"X-Api-Key", FieldName::x_api_key},
                                                     {"X-Request-ID", FieldName::x_request_id}};
  for (const auto& [name, known] : names) {
    EXPECT_EQ(field_name(name), known) << name;
    for (std::size_t i = 0; i < std::string_view(name).size(); ++i) {
      for (const char other : {'!', '0', 'q', '~', '_'}) {
        std::string changed = name;
        if (changed[i] == other) continue;
        changed[i] = other;
        EXPECT_EQ(field_name(changed), FieldName::other) << changed;
      }
    }
  }
  for (const char* name : {"", "X", "ETag", "Content-MD5", "Content_Length", "Contentt-Length"})
    EXPECT_EQ(field_name(name), FieldName::other) << name;
}

}  // namespace
}  // namespace evenkeel::http
