// What must hold for any load: every request ends once, its tokens are all there and no more, the books
// close, and how coarsely the driver advances makes no difference.
#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

EngineConfig random_config(Random& random) {
  EngineConfig config;
  config.slots = between(random, 1, 12);
  config.step_token_budget = config.slots + between(random, 0, 60);
  config.block_size = between(random, 1, 16);
  config.kv_capacity = Tokens(between(random, 4, 40) * config.block_size);
  config.admit_whole_prompt = random.below(2) == 0;
  if (random.below(4) == 0) {
    config.law = RateLaw{{30.0 + random.unit(), 50.0 + random.unit(), 61.0}};
    return config;
  }
  config.law = StepLaw{.fixed_ms = 1 + random.unit(),
                       .token_ms = 0.1 * random.unit(),
                       .kv_token_ms = 0.01 * random.unit(),
                       .prefill_context_ms = 1e-4 * random.unit(),
                       .prompt_kv_given = random.below(3) == 0};
  config.ranks = random.below(2) == 0 ? 1 : static_cast<std::size_t>(between(random, 2, 4));
  config.pause_check_steps = between(random, 1, 8);
  return config;
}

struct Act {
  Time at;
  bool abort = false;
  EngineRequest request;
};

std::vector<Act> random_load(Random& random, const EngineConfig& config) {
  const std::int64_t room = config.model_length().value();
  std::vector<Act> acts;
  Time at{};
  for (RequestId id = 0; id < 120; ++id) {
    at += from_millis(random.exponential(random.below(3) == 0 ? 40 : 2));
    const std::int64_t prompt = between(random, 1, std::max<std::int64_t>(1, room - 1) * 2 / 3 + 1);
    if (prompt >= room) continue;
    acts.push_back({at, false, request(id, prompt, between(random, 1, room), random.below(config.ranks))});
    if (random.below(5) == 0) acts.push_back({at + from_millis(random.exponential(60)), true, acts.back().request});
  }
  std::ranges::stable_sort(acts, {}, &Act::at);
  return acts;
}

struct Fates {
  std::map<RequestId, std::int64_t> tokens;
  std::map<RequestId, int> ends;
};

/// Drives one load; `finely` stops at every event, else only where a request comes or goes.
Fates drive(EngineModel& engine, const EngineConfig& config, const std::vector<Act>& acts, bool finely,
            Recorder& seen) {
  Fates fates;
  const auto look = [&] {
    expect_balanced(engine);
    for (std::size_t rank = 0; rank < engine.ranks(); ++rank) {
      if (std::holds_alternative<StepLaw>(config.law)) {
        EXPECT_LE(engine.books(rank).used_blocks, config.usable_blocks());
      }
      EXPECT_LE(engine.gauges(rank).kv_usage, 1.0);
    }
  };
  for (const auto& act : acts) {
    for (auto due = engine.next_event(); finely && due && *due < act.at; due = engine.next_event()) {
      engine.advance(*due, seen);
      look();
    }
    engine.advance(act.at, seen);
    if (act.abort) {
      fates.ends[act.request.id] += engine.abort(act.at, act.request.id) ? 1 : 0;
    } else {
      EXPECT_EQ(engine.submit(act.at, act.request), SubmitOutcome::accepted);
    }
    look();
  }
  if (finely) {
    run_dry(engine, seen);
  } else {
    engine.advance(Time(from_seconds(1e6)), seen);
  }
  for (const auto& event : seen.events) {
    if (event.kind == EngineEvent::Kind::tokens) {
      EXPECT_EQ(event.first, fates.tokens[event.id] == 0);
      fates.tokens[event.id] += event.count.value();
    }
    if (event.kind == EngineEvent::Kind::finished) ++fates.ends[event.id];
  }
  return fates;
}

TEST(Conservation, EveryRequestEndsOnceWithItsTokensAndTheBooksClose) {
  Random random(2024);
  std::int64_t preemptions = 0;
  std::int64_t aborts = 0;
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(round);
    const auto config = random_config(random);
    const auto acts = random_load(random, config);
    auto engine = make(config);
    ASSERT_NE(engine, nullptr);
    Recorder seen;
    const auto fates = drive(*engine, config, acts, true, seen);
    std::map<RequestId, bool> finished;
    for (const auto& event : seen.events) finished[event.id] |= event.kind == EngineEvent::Kind::finished;
    std::int64_t delivered = 0;
    for (const auto& act : acts) {
      if (act.abort) continue;
      const auto id = act.request.id;
      EXPECT_EQ(fates.ends.at(id), 1) << "request " << id;
      const auto room = config.model_length() - act.request.prompt;
      const auto tokens = fates.tokens.contains(id) ? fates.tokens.at(id) : 0;
      const auto owed = std::min(room, act.request.output).value();
      if (finished[id]) {
        EXPECT_EQ(tokens, owed) << "request " << id;
      } else {
        EXPECT_LT(tokens, owed) << "request " << id;
      }
      delivered += tokens;
    }
    std::int64_t counted = 0;
    for (std::size_t rank = 0; rank < engine->ranks(); ++rank) {
      const auto books = engine->books(rank);
      EXPECT_EQ(books.running + books.waiting + books.used_blocks + books.kv_tokens.value(), 0);
      counted += engine->gauges(rank).generation_tokens.value();
      preemptions += engine->gauges(rank).preemptions;
      aborts += engine->gauges(rank).finished_by(FinishReason::abort);
    }
    EXPECT_EQ(counted, delivered);
    EXPECT_TRUE(std::ranges::is_sorted(seen.events, {}, &EngineEvent::at));
  }
  EXPECT_GT(preemptions, 1000);  // the loads are hard enough to mean something
  EXPECT_GT(aborts, 500);
}

TEST(Conservation, TheSameLoadGivesTheSameEventsHoweverCoarselyItIsDriven) {
  Random random(77);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto config = random_config(random);
    const auto acts = random_load(random, config);
    Recorder fine;
    Recorder coarse;
    drive(*make(config), config, acts, true, fine);
    drive(*make(config), config, acts, false, coarse);
    ASSERT_EQ(transcript(fine), transcript(coarse));
  }
}

}  // namespace
}  // namespace evenkeel::engine
