// Prefix caches in a simulated fleet.
#include "simulation/reuse.hpp"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "simulation/results.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

const std::string conversations = EVENKEEL_SOURCE_DIR "/tests/data/mooncake-conversation.jsonl.gz";

Options of_conversations(std::uint64_t requests) {
  Options options;
  options.workers = 4;
  options.slots = 16;
  options.step_preset = "8b-h100";
  options.prefix_cache = true;
  options.kv_block = 64;
  options.kv_tokens = 8'000'000;
  options.trace.path = conversations;
  options.trace.slice.max_requests = requests;
  options.max_prompt = 200'000;
  options.arrivals = "poisson:3";
  options.steps = 0;
  return options;
}

RunResult run_of(const Options& options, const std::string& policy) {
  auto result = run(parsed_or_fail(options), routing::PolicySpec::parse(policy).value(), 1);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result ? *std::move(result) : RunResult();
}

/// What a cache without end would find, counted over the trace by comparing lists of ids.
double found_by_comparing(const workload::Trace& trace, std::int64_t kv_block) {
  std::vector<std::vector<std::uint64_t>> before;
  double found = 0;
  double prompts = 0;
  for (const auto& request : trace.requests) {
    const auto ids = trace.prefix_blocks(request);
    std::size_t longest = 0;
    for (const auto& other : before) {
      const auto until = std::ranges::mismatch(ids, other).in1;
      longest = std::max(longest, static_cast<std::size_t>(until - ids.begin()));
    }
    const std::int64_t prompt = request.prompt_tokens.value();
    found += static_cast<double>(std::min(static_cast<std::int64_t>(longest) * 512, prompt - 1) / kv_block * kv_block);
    prompts += static_cast<double>(prompt);
    before.push_back(ids);
  }
  return found / prompts;
}

TEST(Reuse, OneWorkerThatServesOneAfterAnotherFindsAllThatCanBeFound) {
  Options options = of_conversations(500);
  options.workers = 1;
  options.slots = 1;
  options.kv_tokens = 20'000'000;
  const Metrics m = run_of(options, "least_requests").metrics;
  const double all = found_by_comparing(*parsed_or_fail(options).lengths.trace, 64);
  EXPECT_GT(all, 0.1);
  EXPECT_NEAR(m.hit_rate, all, 1e-12);
  EXPECT_NEAR(m.endless_cache_hit_rate, all, 1e-12);
  EXPECT_NEAR(m.one_cache_hit_rate, all, 1e-12);
}

TEST(Reuse, ACacheThatIsTooSmallFindsLessAndKeepsWhatWasUsedLast) {
  OneCache cache(3);
  engine::PromptPrefix a{{1, 2}, 100};
  engine::PromptPrefix b{{11, 12}, 100};
  EXPECT_EQ(cache.hit(a, 200, 16), 0);
  EXPECT_EQ(cache.hit(a, 200, 16), 192);  // 199 tokens, in whole blocks of 16
  EXPECT_EQ(cache.hit(b, 250, 16), 0);    // the end of the first goes
  EXPECT_EQ(cache.hit(a, 200, 16), 96);   // and now the end of the second
  EXPECT_EQ(cache.hit(b, 250, 16), 96);
}

TEST(Reuse, PoliciesThatKnowPrefixesFindMoreAndAnswerSooner) {
  const Options options = of_conversations(2500);
  const Metrics weighed = run_of(options, "least_wait").metrics;
  const Metrics blind = run_of(options, "least_wait[hits=off]").metrics;
  const Metrics affine = run_of(options, "longest_prefix").metrics;
  EXPECT_GT(weighed.hit_rate, 1.5 * blind.hit_rate);
  EXPECT_GT(weighed.hit_rate, 0.9 * weighed.one_cache_hit_rate);
  EXPECT_LT(weighed.ttft_p95_s, blind.ttft_p95_s);
  EXPECT_LT(weighed.ttft_p95_s, affine.ttft_p95_s);
}

TEST(Reuse, ABeginningThatIsHotIsAskedForSoManyTimesAsOften) {
  Options options;
  options.workers = 2;
  options.step_preset = "8b-h100";
  options.prefix_cache = true;
  options.prefixes = "11:640:10";
  options.prompts = "fixed:100";
  options.outputs = "fixed:10";
  options.arrivals = "poisson:50";
  options.requests = 20'000;
  options.steps = 0;
  const RunResult result = run_of(options, "least_wait");
  std::uint64_t hot = 0;
  std::uint64_t all = 0;
  for (const WorkerUse& each : result.workers) {
    hot += each.hot_requests;
    all += each.requests;
  }
  EXPECT_EQ(all, 20'000U);
  EXPECT_NEAR(static_cast<double>(hot) / 20'000, 0.5, 0.015);
  EXPECT_EQ(result.metrics.served_mean_prompt, 740);
  EXPECT_NEAR(result.metrics.endless_cache_hit_rate, 640.0 / 740, 1e-3);
}

TEST(Reuse, IsInTheResults) {
  const Options options = of_conversations(60);
  const Setting setting = parsed_or_fail(options);
  BatchOptions batch;
  batch.seeds = 2;
  const auto summaries = run_all(setting, routing::PolicySpec::parse_list("least_wait").value(), batch).value();
  const auto parsed = boost::json::parse(to_json(setting, summaries, {}));
  const auto& of = parsed.at("runs").at(0);
  for (const char* key : {"hit_rate", "one_cache_hit_rate", "endless_cache_hit_rate", "ttft_p50_s"}) {
    EXPECT_TRUE(of.as_object().contains(key)) << key;
  }
  EXPECT_EQ(of.at("per_seed").at(1).at("workers").as_array().size(), 4U);
  EXPECT_TRUE(parsed.at("setting").at("prefix_cache").as_bool());
  EXPECT_NE(result_table(setting, summaries, {}).find("of one cache's"), std::string::npos);
}

TEST(Reuse, WhatDoesNotFitIsRefused) {
  const auto refusal = [](auto set) {
    Options options = of_conversations(60);
    set(options);
    const auto parsed = parse_setting(options, 1);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_NE(refusal([](Options& o) { o.step_preset = "paper"; }).find("--prefix-cache is on"), std::string::npos);
  EXPECT_NE(refusal([](Options& o) { o.kv_block = 0; }).find("--kv-block is 0"), std::string::npos);
  EXPECT_NE(refusal([](Options& o) { o.prompt_weight = 0; }).find("--prompt-weight is 0"), std::string::npos);
  EXPECT_NE(refusal([](Options& o) { o.prefixes = "3:100"; }).find("--prefixes and --trace contradict"),
            std::string::npos);
  const auto of_laws = [&](const char* prefixes) {
    return refusal([&](Options& o) {
      o.trace = {};
      o.requests = 10;
      o.prefixes = prefixes;
    });
  };
  EXPECT_NE(of_laws("3").find("allowed: N:TOKENS or N:TOKENS:HOT"), std::string::npos);
  EXPECT_NE(of_laws("3:100:often").find("allowed: N:TOKENS"), std::string::npos);
  EXPECT_NE(of_laws("3:100:0.5").find("--prefixes: HOT is 0.5"), std::string::npos);
  EXPECT_NE(refusal([](Options& o) {
              o.trace = {};
              o.prefixes = "3:100";
              o.prefix_cache = false;
            }).find("--prefix-cache is wanted"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::simulation
