#include "workload/access_log.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::workload {
namespace {

/// Texts an attacker or an accident might put into a header: quotes, controls, multi-byte, line ends.
std::string hostile_text(Random& random) {
  static const std::vector<std::string> pieces = {"a",
                                                  "Z9",
                                                  " ",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  std::string(1, '\0'),
                                                  "\x01",
                                                  "\x1f",
                                                  "\x7f",
                                                  "/",
                                                  "{\"v\":2}",
                                                  "\xC3\xA9",
                                                  "\xE2\x82\xAC",
                                                  "\xF0\x9F\x9A\xA2",
                                                  "\xE2\x80\xA8",
                                                  "\\u0000",
                                                  "',",
                                                  "}\n{",
                                                  "\xEF\xBF\xBD"};
  std::string text;
  for (auto n = random.below(12); n > 0; --n) text += pieces[random.below(pieces.size())];
  return text;
}

double some_millis(Random& random) {
  switch (random.below(4)) {
    case 0: return 0;
    case 1: return static_cast<double>(random.below(100'000));
    case 2: return random.lognormal(100, 3);
    default: return random.unit() * 1e-7;
  }
}

std::int64_t some_whole(Random& random) {
  const auto bits = random.below(64);
  return static_cast<std::int64_t>(random.next() >> (1 + bits % 63));
}

TEST(AccessLog, WhatIsWrittenReadsBackEqual) {
  Random random(5);
  AccessLogReader reader;
  std::string line;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 13; ++i) texts.push_back(hostile_text(random));
    AccessLogRecord r;
    r.ts = some_whole(random);
    r.id = texts[0];
    r.model = texts[1];
    r.worker = texts[2];
    r.client = texts[3];
    r.endpoint = texts[4];
    r.outcome = texts[5];
    r.reason = texts[6];
    r.refusal = texts[7];
    r.policy = texts[8];
    r.route_reason = texts[9];
    r.candidates = texts[10];
    r.route = texts[11];
    r.from_peer = texts[12];
    r.stream = random.below(2) == 1;
    r.status = static_cast<int>(random.below(600));
    r.prompt_tokens = some_whole(random);
    r.output_tokens = some_whole(random);
    r.prompt_tokens_from = static_cast<TokenSource>(random.below(5));
    r.output_tokens_from = static_cast<TokenSource>(random.below(5));
    r.queue_ms = some_millis(random);
    r.total_ms = r.queue_ms + some_millis(random);
    r.waited_ms = some_millis(random);
    if (random.below(2) == 1) r.first_byte_ms = r.total_ms * random.unit();
    if (random.below(2) == 1) r.signal_age_ms = some_millis(random);
    r.bytes_in = some_whole(random);
    r.bytes_out = some_whole(random);
    r.attempt = static_cast<int>(random.below(5));
    if (random.below(2) == 1) r.expected_hit_tokens = some_whole(random);
    if (random.below(2) == 1) r.cached_tokens = some_whole(random);
    if (random.below(2) == 1) r.scarcest = "slots";
    if (random.below(2) == 1) r.headroom = random.unit() - 0.1;

    line.clear();
    append_access_log_line(line, r);
    ASSERT_EQ(line.find('\n'), line.size() - 1) << "one line a record";
    const auto back = reader.read(line);
    ASSERT_TRUE(back.has_value()) << back.error().message << "\n" << line;
    EXPECT_EQ(back->ts, r.ts);
    EXPECT_EQ(back->id, r.id);
    EXPECT_EQ(back->model, r.model);
    EXPECT_EQ(back->worker, r.worker);
    EXPECT_EQ(back->client, r.client);
    EXPECT_EQ(back->endpoint, r.endpoint);
    EXPECT_EQ(back->stream, r.stream);
    EXPECT_EQ(back->outcome, r.outcome);
    EXPECT_EQ(back->status, r.status);
    EXPECT_EQ(back->reason, r.reason);
    EXPECT_EQ(back->refusal, r.refusal);
    EXPECT_EQ(back->prompt_tokens, r.prompt_tokens);
    EXPECT_EQ(back->prompt_tokens_from, r.prompt_tokens_from);
    EXPECT_EQ(back->output_tokens, r.output_tokens);
    EXPECT_EQ(back->output_tokens_from, r.output_tokens_from);
    EXPECT_EQ(back->queue_ms, r.queue_ms);
    EXPECT_EQ(back->first_byte_ms, r.first_byte_ms);
    EXPECT_EQ(back->total_ms, r.total_ms);
    EXPECT_EQ(back->bytes_in, r.bytes_in);
    EXPECT_EQ(back->bytes_out, r.bytes_out);
    EXPECT_EQ(back->policy, r.policy);
    EXPECT_EQ(back->route_reason, r.route_reason);
    EXPECT_EQ(back->candidates, r.candidates);
    EXPECT_EQ(back->route, r.route);
    EXPECT_EQ(back->from_peer, r.from_peer);
    EXPECT_EQ(back->waited_ms, r.waited_ms);
    EXPECT_EQ(back->signal_age_ms, r.signal_age_ms);
    EXPECT_EQ(back->attempt, r.attempt);
    EXPECT_EQ(back->expected_hit_tokens, r.expected_hit_tokens);
    EXPECT_EQ(back->cached_tokens, r.cached_tokens);
    EXPECT_EQ(back->scarcest, r.scarcest);
    EXPECT_EQ(back->headroom, r.headroom);
  }
}

TEST(AccessLog, BytesThatAreNotUtf8AndTimesThatAreNotFiniteStillGiveAReadableLine) {
  AccessLogRecord r;
  r.model = "m\xFF\xC3(";
  r.queue_ms = std::numeric_limits<double>::quiet_NaN();
  r.total_ms = std::numeric_limits<double>::infinity();
  std::string line;
  append_access_log_line(line, r);
  AccessLogReader reader;
  const auto back = reader.read(line);
  ASSERT_TRUE(back.has_value()) << line;
  EXPECT_EQ(back->model, "m\xEF\xBF\xBD\xEF\xBF\xBD(");
  EXPECT_EQ(back->queue_ms, 0);
  EXPECT_EQ(back->total_ms, 0);
}

TEST(AccessLog, LineIsTheDocumentedOne) {
  AccessLogRecord r;
  r.ts = 1700158546680;
  r.id = "abc";
  r.model = "m";
  r.endpoint = "/v1/completions";
  r.outcome = "completed";
  r.status = 200;
  r.prompt_tokens = 374;
  r.prompt_tokens_from = TokenSource::usage;
  r.output_tokens = 44;
  r.output_tokens_from = TokenSource::events;
  r.first_byte_ms = 12.25;
  r.total_ms = 100.5;
  r.attempt = 1;
  std::string line = "before\n";
  append_access_log_line(line, r);
  EXPECT_EQ(line,
            "before\n{\"v\":1,\"ts\":1700158546680,\"id\":\"abc\",\"model\":\"m\",\"endpoint\":\"/v1/completions\","
            "\"stream\":false,\"outcome\":\"completed\",\"status\":200,\"prompt_tokens\":374,"
            "\"prompt_tokens_from\":\"usage\",\"output_tokens\":44,\"output_tokens_from\":\"events\","
            "\"queue_ms\":0,\"first_byte_ms\":12.25,\"total_ms\":100.5,\"bytes_in\":0,\"bytes_out\":0,"
            "\"waited_ms\":0,\"attempt\":1}\n");
}

TEST(AccessLog, UnknownKeysArePassedOverAndBadFieldsNamed) {
  AccessLogReader reader;
  const auto good = reader.read(R"({"v":1,"ts":5,"model":"m","later":{"deep":[1,2,{"x":null}]},"client":"c"})");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->client, "c");

  const auto message = [&](std::string_view line) {
    const auto result = reader.read(line);
    return result ? std::string("read") : result.error().message;
  };
  const auto expect_says = [&](std::string_view line, std::string_view part) {
    EXPECT_NE(message(line).find(part), std::string::npos) << line << " -> " << message(line);
  };
  expect_says(R"({"v":2,"ts":5,"model":"m"})", "field \"v\" is 2; this reader knows version 1 only");
  expect_says(R"({"v":"1","ts":5,"model":"m"})", "field \"v\" is \"1\"");
  expect_says(R"({"ts":5,"model":"m"})", "field \"v\" is missing");
  expect_says(R"({"v":1,"model":"m"})", "field \"ts\" is missing");
  expect_says(R"({"v":1,"ts":5})", "field \"model\" is missing");
  expect_says(R"({"v":1,"ts":5,"model":7})", "field \"model\" is 7; allowed: a text");
  expect_says(R"({"v":1,"ts":5,"model":"m","prompt_tokens_from":"guess"})", "\"estimate\"");
  expect_says(R"({"v":1,"ts":5,"model":"m","prompt_tokens":-1})",
              "field \"prompt_tokens\" is -1; allowed: numbers from 0");
  for (const std::string name : {"ts", "output_tokens", "bytes_in", "bytes_out", "queue_ms", "prefill_ms",
                                 "first_byte_ms", "total_ms", "waited_ms", "signal_age_ms"}) {
    const std::string ts = name == "ts" ? "" : R"("ts":5,)";
    expect_says(R"({"v":1,)" + ts + R"("model":"m",")" + name + R"(":-1})", "field \"" + name + "\" is -1");
  }
  expect_says(R"({"v":1,"ts":5,"model":"m","queue_ms":30,"total_ms":20})", "at most \"total_ms\", which is 20");
  expect_says(R"({"v":1,"ts":5,"model":"m","first_byte_ms":30,"total_ms":20})", "field \"first_byte_ms\" is 30");
  expect_says(R"({"v":1,"ts":5,"model":"m","first_byte_ms":20.4,"total_ms":20})", "read");
  expect_says(R"({"v":1,"ts":5,"model":"m","status":-1})", "a whole number from 0");
  expect_says("[1]", "not a JSON object");
  expect_says("", "not a JSON object");
  expect_says(R"({"v":1,"ts":5,"model":"m")", "not a JSON object");
}

}  // namespace
}  // namespace evenkeel::workload
