// Conversations: chains, think times, sub-agents, prefix ids that continue.
#include <cmath>
#include <map>
#include <set>

#include "trace_support.hpp"

namespace evenkeel::workload {
namespace {

TraceSpec sessions(double rate) {
  auto spec = spec_of("agentic-sessions.jsonl.gz");
  spec.session_rate = rate;
  return spec;
}

/// What must hold of every trace of conversations.
void expect_chains(const Trace& trace) {
  std::map<NameIndex, RequestIndex> last;
  for (RequestIndex i = 0; i < trace.requests.size(); ++i) {
    const auto& r = trace.requests[i];
    ASSERT_NE(r.session, no_index);
    const auto before = last.find(r.session);
    EXPECT_EQ(r.after, before == last.end() ? no_index : before->second) << i;
    EXPECT_GE(r.think, Duration{});
    if (r.after != no_index) {
      EXPECT_GE(r.arrival, trace.requests[r.after].arrival);
    }
    last[r.session] = i;
  }
}

TEST(Conversations, SessionsKeepTheirTurnsTokensAndBlocks) {
  const Trace trace = must_read(sessions(0.01));
  EXPECT_EQ(trace.format, "agentic-sessions");
  expect_chains(trace);
  struct Counted {
    std::int64_t turns = 0, prompt = 0, output = 0;
    std::size_t blocks = 0;
    std::set<std::uint64_t> ids;
  };
  std::map<std::string_view, Counted> of;
  for (const auto& r : trace.requests) {
    auto& c = of[trace.name(r.session)];
    ++c.turns;
    c.prompt += r.prompt_tokens.value();
    c.output += r.output_tokens.value();
    const auto ids = trace.prefix_blocks(r);
    c.blocks += ids.size();
    c.ids.insert(ids.begin(), ids.end());
    EXPECT_EQ(r.prefix_block_size, 64U);
  }
  ASSERT_EQ(of.size(), 7U);
  const auto expect = [&](std::string_view name, std::int64_t turns, std::int64_t prompt, std::int64_t output,
                          std::size_t blocks, std::size_t distinct) {
    const auto& c = of[name];
    EXPECT_EQ(c.turns, turns) << name;
    EXPECT_EQ(c.prompt, prompt) << name;
    EXPECT_EQ(c.output, output) << name;
    EXPECT_EQ(c.blocks, blocks) << name;
    EXPECT_EQ(c.ids.size(), distinct) << name;
  };
  // Counted by another program over the same lines.
  expect("trace_0017", 265, 25'050'152, 69'814, 391'273, 19'355);
  expect("trace_0460", 12, 164'269, 1377, 2559, 272);
  expect("trace_0620", 6, 280'044, 6680, 4372, 925);
  std::set<std::uint64_t> all;
  std::size_t sum = 0;
  for (const auto& [name, c] : of) {
    all.insert(c.ids.begin(), c.ids.end());
    sum += c.ids.size();
  }
  EXPECT_EQ(all.size(), sum) << "ids of different conversations must not meet";
}

TEST(Conversations, SubAgentRunsBeforeTheParentGoesOn) {
  const Trace trace = must_read(sessions(0.01));
  std::vector<TraceRequest> turns;
  for (const auto& r : trace.requests) {
    if (trace.name(r.session) == "trace_0017") turns.push_back(r);
  }
  ASSERT_EQ(turns.size(), 265U);
  // Turns 115 to 125 are the sub-agent's, with a model of their own. It took 94 + 23.7 s of the 126 s that
  // the parent is recorded to have waited.
  EXPECT_EQ(trace.name(turns[114].model), "claude-opus-4-5-20251101");
  for (std::size_t i = 115; i <= 125; ++i) EXPECT_EQ(trace.name(turns[i].model), "claude-haiku-4-5-20251001");
  EXPECT_EQ(turns[115].think, Duration{});
  EXPECT_EQ(turns[116].think, std::chrono::seconds(2));
  EXPECT_EQ(trace.name(turns[126].model), "claude-opus-4-5-20251101");
  EXPECT_NEAR(to_seconds(turns[126].think), 126 - 117.7, 1e-6);
  EXPECT_EQ(trace.prefix_blocks(turns[126]).front(), trace.prefix_blocks(turns[114]).front());
}

TEST(Conversations, RequestTableKeepsSharedHeads) {
  auto spec = spec_of("agentic-requests.csv.gz");
  spec.session_rate = 0.01;
  const Trace trace = must_read(spec);
  EXPECT_EQ(trace.format, "agentic-requests");
  expect_chains(trace);
  ASSERT_EQ(trace.requests.size(), 5541U);
  std::int64_t prompt = 0;
  std::size_t blocks = 0;
  std::set<std::uint64_t> distinct;
  std::set<NameIndex> names;
  for (const auto& r : trace.requests) {
    prompt += r.prompt_tokens.value();
    names.insert(r.session);
    const auto ids = trace.prefix_blocks(r);
    blocks += ids.size();
    distinct.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(names.size(), 96U);
  EXPECT_EQ(prompt, 719'589'913);
  EXPECT_EQ(blocks, 11'240'854U);
  EXPECT_EQ(distinct.size(), 549'215U);  // blocks less prefix_blocks, summed
}

TEST(Conversations, StartsAreAPoissonStreamOfTheRateAskedFor) {
  std::string lines;
  for (int i = 0; i < 5000; ++i) {
    lines += R"({"id":"s)" + std::to_string(i) +
             R"(","block_size":64,"requests":[{"t":0,"type":"s","model":"m","in":10,"out":5}]})" + "\n";
  }
  const TemporaryFile file(lines);
  auto spec = file.spec();
  spec.session_rate = 0.5;
  const Trace trace = must_read(spec);
  ASSERT_EQ(trace.requests.size(), 5000U);
  EXPECT_NEAR(last_arrival_s(trace), 5000 / 0.5, 4 * std::sqrt(5000.0) / 0.5);
  EXPECT_NEAR(gap_cv(trace), 1, 0.06);
}

TEST(Conversations, ASliceRelinksWhatWaitedForSomethingLeftOut) {
  const std::string line = R"({"id":"s","block_size":64,"requests":[)"
                           R"({"t":0,"type":"s","model":"m","in":10,"out":5,"think_time":0,"api_time":1},)"
                           R"({"t":10,"type":"s","model":"m","in":20,"out":900,"think_time":9,"api_time":1},)"
                           R"({"t":20,"type":"s","model":"m","in":30,"out":5,"think_time":8,"api_time":1}]})";
  const TemporaryFile file(line);
  auto spec = file.spec();
  spec.session_rate = 1000;
  spec.slice.output_to = 100;
  Trace trace = must_read(spec);
  ASSERT_EQ(trace.requests.size(), 2U);
  EXPECT_EQ(trace.requests[1].after, 0U);
  EXPECT_EQ(trace.requests[1].think, std::chrono::seconds(17));
  spec.slice.from_s = 5;
  trace = must_read(spec);
  ASSERT_EQ(trace.requests.size(), 1U);
  EXPECT_EQ(trace.requests[0].after, no_index) << "its forerunners are before the slice: it starts by the clock";
  spec.session_rate.reset();
  EXPECT_NE(refusal(spec).find("a session_rate (starts a second) is wanted"), std::string::npos);
}

TEST(Conversations, BadLinesAreNamed) {
  const auto says = [](const std::string& requests) {
    const TemporaryFile file(R"({"id":"s","block_size":64,"requests":)" + requests + "}");
    auto spec = file.spec();
    spec.session_rate = 1;
    return refusal(spec);
  };
  EXPECT_NE(says("[7]").find("a list of objects"), std::string::npos);
  EXPECT_NE(says("[{\"t\":-1}]").find("field \"t\" is -1"), std::string::npos);
  EXPECT_NE(says(R"([{"t":1,"type":"s","model":"m","in":1,"out":1,"hash_ids":[1,-1]}])").find("hash_ids"),
            std::string::npos);
  std::string deep = R"([{"t":0,"type":"s","model":"m","in":1,"out":1}])";
  for (int i = 0; i < 9; ++i) deep = R"([{"t":0,"type":"subagent","agent_id":"a","requests":)" + deep + "}]";
  EXPECT_NE(says(deep).find("nested at most 8 deep"), std::string::npos);
}

TEST(PrefixStore, ListsReadBackWhateverTheyBuildOn) {
  Random random(9);
  PrefixStore store;
  std::vector<std::vector<std::uint64_t>> truth;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint64_t> list;
    std::uint32_t head = 0;
    PrefixList base = no_prefix;
    if (!truth.empty() && random.below(8) > 0) {
      base = static_cast<PrefixList>(random.below(truth.size()));
      head = static_cast<std::uint32_t>(random.below(truth[base].size() + 1));
      list.assign(truth[base].begin(), truth[base].begin() + head);
    }
    for (auto n = random.below(6); n > 0; --n) list.push_back(random.next());
    ASSERT_EQ(store.extend(base, head, std::span(list).subspan(head)), truth.size());
    truth.push_back(list);
  }
  for (PrefixList i = 0; i < truth.size(); ++i) EXPECT_EQ(store.read(i), truth[i]) << i;
  EXPECT_TRUE(store.read(no_prefix).empty());
}

}  // namespace
}  // namespace evenkeel::workload
