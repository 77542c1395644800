#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "load/replay.hpp"
#include "load/support/scripted_server.hpp"

namespace evenkeel::load {
namespace {

using namespace std::chrono_literals;
using workload::no_index;
using workload::RequestIndex;
using workload::Trace;

/// A request at once, of 10 prompt tokens, whose output length is its name in the script.
void add(Trace& trace, std::int64_t output, RequestIndex after = no_index, std::string_view session = {}) {
  workload::TraceRequest request;
  request.prompt_tokens = Tokens(10);
  request.output_tokens = Tokens(output);
  request.after = after;
  request.session = trace.intern(session);
  trace.requests.push_back(request);
}

ReplayOptions options_for(const ScriptedServer& server) {
  ReplayOptions options;
  options.url = server.url();
  options.model = "tiny";
  options.timeout = 60s;
  return options;
}

ReplayReport must_run(const ReplayOptions& options, const Trace& trace, const OnProgress& progress = {}) {
  auto report = run_replay(options, trace, progress);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report ? std::move(*report) : ReplayReport{};
}

std::uint64_t count(const ReplayReport& report, Ending ending) {
  return report.endings[static_cast<std::size_t>(ending)].requests;
}

std::string example(const ReplayReport& report, Ending ending) {
  return report.endings[static_cast<std::size_t>(ending)].example;
}

TEST(Replay, StreamsAreCountedByTheirUsage) {
  ScriptedServer server;
  Trace trace;
  for (int i = 1; i <= 20; ++i) add(trace, i);
  ReplayProgress last;
  const auto report = must_run(options_for(server), trace, [&](const ReplayProgress& at) { last = at; });
  server.stop();
  EXPECT_EQ(report.completed.requests, 20U);
  EXPECT_EQ(report.completed.counted_by_usage, 20U);
  EXPECT_EQ(report.completed.output_tokens, 210);
  EXPECT_EQ(report.completed.prompt_tokens, 200);
  EXPECT_EQ(report.offered.output_tokens, 210);
  EXPECT_EQ(report.ttft_ms.count, 20U);
  EXPECT_EQ(report.tpot_ms.count, 19U);
  EXPECT_EQ(report.itl_ms.count, 190U);
  EXPECT_EQ(report.failed(), 0U);
  EXPECT_EQ(last.ended, 20U);
  EXPECT_EQ(last.total, 20U);
  EXPECT_EQ(last.in_flight, 0U);
}

TEST(Replay, ReceiptsTellWorkersPolicyAndWaiting) {
  ScriptedServer server;
  Trace trace;
  for (int i = 1; i <= 5; ++i) add(trace, i);
  const auto report = must_run(options_for(server), trace);
  EXPECT_EQ(report.policy, "scripted");
  EXPECT_EQ(report.label, "scripted");
  ASSERT_EQ(report.workers.size(), 2U);
  EXPECT_EQ(report.workers[0].name, "even");
  EXPECT_EQ(report.workers[0].answers, 2U);
  EXPECT_EQ(report.workers[1].output_tokens, 1 + 3 + 5);
  EXPECT_DOUBLE_EQ(report.router_wait_ms->max, 2.5);
}

TEST(Replay, WithoutUsageEventsAreCounted) {
  ScriptedServer server;
  server.acts[7] = Act::answer_no_usage;
  Trace trace;
  add(trace, 7);
  const auto report = must_run(options_for(server), trace);
  EXPECT_EQ(report.completed.output_tokens, 7);
  EXPECT_EQ(report.completed.counted_by_events, 1U);
  EXPECT_EQ(report.completed.prompt_tokens, 10);
}

TEST(Replay, TheTrueLengthStandsInTheHeaderOnly) {
  ScriptedServer server;
  Trace trace;
  for (const auto output : {1301, 1302, 1303}) add(trace, output);
  must_run(options_for(server), trace);
  server.stop();
  ASSERT_EQ(server.seen.size(), 3U);
  std::set<std::int64_t> told;
  for (const auto& seen : server.seen) {
    told.insert(seen.told);
    EXPECT_EQ(boost::json::parse(seen.body).at("max_tokens").to_number<int>(), 2048);
    EXPECT_EQ(seen.body.find("130"), std::string::npos) << seen.body;
  }
  EXPECT_EQ(told, (std::set<std::int64_t>{1301, 1302, 1303}));
}

TEST(Replay, EveryFailureHasItsClass) {
  ScriptedServer server;
  server.acts = {{2, Act::refuse_429},    {3, Act::refuse_503}, {4, Act::refuse_400},
                 {5, Act::error_event},   {6, Act::no_done},    {7, Act::cut},
                 {8, Act::garbage_event}, {9, Act::web_page},   {10, Act::vanish}};
  Trace trace;
  for (int i = 1; i <= 10; ++i) add(trace, i);
  const auto report = must_run(options_for(server), trace);
  EXPECT_EQ(report.offered.requests, 10U);
  EXPECT_EQ(count(report, Ending::completed), 1U);
  EXPECT_EQ(count(report, Ending::status), 3U);
  EXPECT_EQ(count(report, Ending::error_event), 1U);
  EXPECT_EQ(count(report, Ending::truncated), 2U);
  EXPECT_EQ(count(report, Ending::malformed), 2U);
  EXPECT_EQ(count(report, Ending::no_answer), 1U);
  EXPECT_EQ(report.statuses, (std::map<int, std::uint64_t>{{200, 6}, {400, 1}, {429, 1}, {503, 1}}));
  EXPECT_EQ(report.refusals, (std::map<std::string, std::uint64_t>{{"pool_full", 1}}));
  EXPECT_EQ(example(report, Ending::error_event), "no room");
  EXPECT_EQ(report.ttft_ms.count, 1U);
  EXPECT_EQ(report.completed.output_tokens, 1);
  EXPECT_EQ(report.wasted_output_tokens, 2 * 4);  // error event, no [DONE], reset, garbage
}

TEST(Replay, ARequestWithoutEndTimesOutAndTheOthersDoNot) {
  ScriptedServer server;
  server.acts[2] = Act::stall;
  Trace trace;
  for (int i = 1; i <= 3; ++i) add(trace, i);
  auto options = options_for(server);
  options.timeout = 2s;
  const auto report = must_run(options, trace);
  EXPECT_EQ(count(report, Ending::timeout), 1U);
  EXPECT_EQ(count(report, Ending::completed), 2U);
}

TEST(Replay, NobodyThereIsAFailureToConnect) {
  std::string url;
  {
    const ScriptedServer gone;
    url = gone.url();
  }
  ReplayOptions options;
  options.url = url;
  options.model = "m";
  Trace trace;
  add(trace, 1);
  EXPECT_EQ(count(must_run(options, trace), Ending::connect), 1U);
}

TEST(Replay, TheCapIsReachedAndNeverExceeded) {
  ScriptedServer server;
  server.gather = 4;
  Trace trace;
  for (int i = 1; i <= 20; ++i) add(trace, i);
  auto options = options_for(server);
  options.concurrency = 4;
  const auto report = must_run(options, trace);
  server.stop();
  EXPECT_EQ(report.completed.requests, 20U);
  EXPECT_EQ(server.most_inside, 4U);
  EXPECT_EQ(report.most_in_flight, 4U);
  EXPECT_EQ(report.held_requests, 16U);
}

TEST(Replay, WithoutACapTheLoadIsOpen) {
  ScriptedServer server;
  server.gather = 50;  // nobody is answered before all are there
  Trace trace;
  for (int i = 1; i <= 50; ++i) add(trace, i);
  const auto report = must_run(options_for(server), trace);
  server.stop();
  EXPECT_EQ(report.completed.requests, 50U);
  EXPECT_EQ(report.held_requests, 0U);
  EXPECT_EQ(server.most_inside, 50U);
}

TEST(Replay, ATurnIsSentAfterTheOneBeforeHasEndedEvenIfThatFailed) {
  ScriptedServer server;
  server.acts[3] = Act::cut;
  Trace trace;
  add(trace, 1, no_index, "a");  // 0
  add(trace, 2, 0, "a");         // 1
  add(trace, 3, 1, "a");         // 2
  add(trace, 4, 2, "a");         // 3
  for (int i = 10; i < 20; ++i) add(trace, i);
  const auto report = must_run(options_for(server), trace);
  server.stop();
  EXPECT_EQ(report.completed.requests, 13U);
  std::vector<std::pair<char, std::int64_t>> session;
  for (const auto& entry : server.log) {
    if (entry.second < 10) session.push_back(entry);
  }
  const std::vector<std::pair<char, std::int64_t>> in_turn{{'b', 1}, {'e', 1}, {'b', 2}, {'e', 2},
                                                           {'b', 3}, {'e', 3}, {'b', 4}, {'e', 4}};
  EXPECT_EQ(session, in_turn);
  const auto of_session = [](const auto& seen) { return seen.session == "a"; };
  EXPECT_EQ(std::count_if(server.seen.begin(), server.seen.end(), of_session), 4);
}

TEST(Replay, OneConnectionServesOneRequestAfterAnother) {
  ScriptedServer server;
  Trace trace;
  for (int i = 1; i <= 10; ++i) add(trace, i);
  server.acts = {{4, Act::refuse_429}, {6, Act::error_event}};
  auto options = options_for(server);
  options.concurrency = 1;
  must_run(options, trace);
  server.stop();
  std::set<std::string> peers;
  for (const auto& seen : server.seen) peers.insert(seen.peer);
  EXPECT_EQ(server.seen.size(), 10U);
  EXPECT_EQ(peers.size(), 1U);
}

TEST(Replay, ADeadKeptConnectionIsReplacedOnce) {
  ScriptedServer server;
  for (int i = 1; i <= 6; ++i) server.acts[i] = Act::vanish_if_kept;
  Trace trace;
  for (int i = 1; i <= 6; ++i) add(trace, i);
  auto options = options_for(server);
  options.concurrency = 1;
  const auto report = must_run(options, trace);
  EXPECT_EQ(report.completed.requests, 6U);
  EXPECT_EQ(report.reconnects, 5U);
}

TEST(Replay, PlainAnswersHaveNoFirstToken) {
  ScriptedServer server;
  server.acts = {{3, Act::refuse_503}, {4, Act::web_page}};
  Trace trace;
  for (int i = 1; i <= 4; ++i) add(trace, i);
  auto options = options_for(server);
  options.stream = false;
  options.api = Api::completions;
  const auto report = must_run(options, trace);
  server.stop();
  EXPECT_EQ(report.completed.requests, 2U);
  EXPECT_EQ(report.completed.output_tokens, 3);
  EXPECT_EQ(report.ttft_ms.count, 0U);
  EXPECT_EQ(report.e2e_ms.count, 2U);
  EXPECT_EQ(count(report, Ending::malformed), 1U);
  EXPECT_EQ(server.seen.at(0).path, "/v1/completions");
}

TEST(Replay, AsksTheServerForAModelIfNoneIsNamed) {
  ScriptedServer server;
  Trace trace;
  add(trace, 1);
  auto options = options_for(server);
  options.model = "";
  const auto report = must_run(options, trace);
  server.stop();
  EXPECT_EQ(boost::json::parse(server.seen.at(0).body).at("model").as_string(), "tiny");
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(),
                          [](const std::string& note) { return note.find("\"tiny\"") != std::string::npos; }));
}

TEST(Replay, RefusesWhatItCannotRun) {
  ReplayOptions options;
  options.url = "http://127.0.0.1:1";
  EXPECT_FALSE(run_replay(options, Trace{}).has_value());
  Trace trace;
  add(trace, 1);
  const auto no_model = run_replay(options, trace);
  ASSERT_FALSE(no_model.has_value());
  EXPECT_NE(no_model.error().message.find("--model"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::load
