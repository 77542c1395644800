// The prefix cache in the scheduler, against a plain scheduler that compares tokens instead of hashes and keeps lists
// instead of links; and what follows from it, by hand.
#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/rank.hpp"
#include "engine/support/counting_new.hpp"
#include "engine/support/driving.hpp"

namespace evenkeel::engine {
namespace {

using namespace testing;
using Ids = std::vector<std::uint64_t>;

std::shared_ptr<const PromptPrefix> prefix_of(const Ids& ids, std::int64_t block_tokens) {
  auto prefix = std::make_shared<PromptPrefix>();
  prefix->block_tokens = block_tokens;
  std::uint64_t hash = 1;
  for (const std::uint64_t id : ids) prefix->chain.push_back(hash = mix64(hash ^ mix64(id + 17)));
  return prefix;
}

EngineRequest with_prefix(EngineRequest request, const Ids& ids, std::int64_t block_tokens) {
  request.prefix = prefix_of(ids, block_tokens);
  return request;
}

EngineConfig small(std::int64_t blocks) {
  EngineConfig config;
  config.law = StepLaw{.fixed_ms = 10};
  config.slots = 8;
  config.step_token_budget = 64;
  config.block_size = 4;
  config.kv_capacity = Tokens(blocks * config.block_size);
  config.prefix_cache = true;
  return config;
}

// --- the plain scheduler -------------------------------------------------------------------------------------------

class PlainRank {
 public:
  struct Step {
    std::int64_t new_tokens = 0;
    std::int64_t kv_tokens = 0;
    double context = 0;
    std::vector<std::string> events;
  };

  explicit PlainRank(const EngineConfig& config)
      : config_(config), blocks_(static_cast<std::size_t>(config.usable_blocks())) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) free_.push_back(i);
  }

  void submit(RequestId id, const Ids& ids, std::int64_t block_tokens, std::int64_t prompt, std::int64_t output) {
    Sequence sequence;
    sequence.id = id;
    sequence.prompt = prompt;
    sequence.output = output;
    ++made_;
    for (std::int64_t at = 0; at < prompt + output; ++at) {
      const auto block = static_cast<std::size_t>(at / block_tokens);
      const bool shared = at < prompt && block < ids.size();
      sequence.tokens.push_back(shared ? std::to_string(ids[block]) + "." + std::to_string(at % block_tokens)
                                       : "own" + std::to_string(made_));
    }
    waiting_.push_back(sequence);
  }

  void abort(RequestId id) {
    for (auto* list : {&running_, &waiting_}) {
      for (auto& each : *list) {
        if (each.id == id) give_back(each);
      }
      std::erase_if(*list, [id](const Sequence& each) { return each.id == id; });
    }
  }

  Step schedule() {
    step_ = {};
    budget_ = config_.step_token_budget;
    bool preempted = false;
    for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
      const std::int64_t tokens = std::min(running_[i].missing(), budget_);
      while (i < running_.size() && !allocate(running_[i], tokens)) {
        Sequence victim = running_.back();
        running_.pop_back();
        give_back(victim);
        victim.computed = 0;
        step_.events.push_back("preempted " + std::to_string(victim.id));
        waiting_.push_front(victim);
        preempted = true;
      }
      if (i == running_.size()) break;
      compute(running_[i], tokens);
    }
    while (!preempted && !waiting_.empty() && budget_ > 0 &&
           running_.size() < static_cast<std::size_t>(config_.slots)) {
      Sequence& next = waiting_.front();
      const auto found = find(next);
      const auto held = static_cast<std::int64_t>(found.size()) * config_.block_size;
      const std::int64_t remaining = next.prompt + next.generated - held;
      const std::int64_t tokens = std::min(remaining, budget_);
      const std::int64_t fit = held + (config_.admit_whole_prompt ? remaining : tokens);
      const std::int64_t wanted = (fit + config_.block_size - 1) / config_.block_size;
      std::int64_t usable = static_cast<std::int64_t>(free_.size());
      for (const std::size_t block : found) usable += blocks_[block].users > 0 ? 1 : 0;
      if (wanted > usable) break;
      for (const std::size_t block : found) {
        if (blocks_[block].users++ == 0) free_.remove(block);
      }
      next.blocks = found;
      next.computed = held;
      step_.events.push_back("started " + std::to_string(next.id) + " " + std::to_string(held));
      running_.push_back(next);
      waiting_.pop_front();
      EXPECT_TRUE(allocate(running_.back(), tokens));
      compute(running_.back(), tokens);
    }
    return step_;
  }

  void complete() {
    for (Sequence& each : running_) {
      each.computed += each.scheduled;
      if (each.scheduled > 0 && each.missing() == 0) ++each.generated;
      each.scheduled = 0;
      if (each.generated == each.output) give_back(each);
    }
    std::erase_if(running_, [](const Sequence& each) { return each.generated == each.output; });
  }

  [[nodiscard]] std::int64_t used() const { return config_.usable_blocks() - static_cast<std::int64_t>(free_.size()); }

 private:
  struct Block {
    std::vector<std::string> holds;  ///< everything up to its end; empty: cannot be found
    std::int64_t published = 0;
    int users = 0;
  };
  struct Sequence {
    RequestId id = 0;
    std::int64_t prompt = 0, output = 0, generated = 0, computed = 0, scheduled = 0;
    std::vector<std::string> tokens;
    std::vector<std::size_t> blocks;
    [[nodiscard]] std::int64_t missing() const { return prompt + generated - computed; }
  };

  [[nodiscard]] std::vector<std::string> beginning(const Sequence& sequence, std::size_t blocks) const {
    const auto end = static_cast<std::ptrdiff_t>(blocks) * config_.block_size;
    return {sequence.tokens.begin(), sequence.tokens.begin() + end};
  }

  [[nodiscard]] std::vector<std::size_t> find(const Sequence& sequence) const {
    std::vector<std::size_t> found;
    while (static_cast<std::int64_t>(found.size() + 1) * config_.block_size < sequence.prompt + sequence.generated) {
      const auto wanted = beginning(sequence, found.size() + 1);
      const Block* best = nullptr;
      for (const Block& block : blocks_) {
        if (block.holds == wanted && (best == nullptr || block.published < best->published)) best = &block;
      }
      if (best == nullptr) break;
      found.push_back(static_cast<std::size_t>(best - blocks_.data()));
    }
    return found;
  }

  bool allocate(Sequence& sequence, std::int64_t tokens) {
    const auto wanted =
        static_cast<std::size_t>((sequence.computed + tokens + config_.block_size - 1) / config_.block_size);
    if (wanted > sequence.blocks.size() + free_.size()) return false;
    while (sequence.blocks.size() < wanted) {
      Block& block = blocks_[free_.front()];
      block.holds.clear();
      block.users = 1;
      sequence.blocks.push_back(free_.front());
      free_.pop_front();
    }
    return true;
  }

  void compute(Sequence& sequence, std::int64_t tokens) {
    if (sequence.missing() == 1) {
      step_.kv_tokens += sequence.computed + 1;
    } else {
      const auto fresh = static_cast<double>(tokens);
      step_.context += fresh * (static_cast<double>(sequence.computed) + fresh / 2);
    }
    sequence.scheduled = tokens;
    step_.new_tokens += tokens;
    budget_ -= tokens;
    for (std::size_t i = 0; static_cast<std::int64_t>(i + 1) * config_.block_size <= sequence.computed + tokens; ++i) {
      Block& block = blocks_[sequence.blocks[i]];
      if (!block.holds.empty()) continue;
      block.holds = beginning(sequence, i + 1);
      block.published = ++published_;
    }
  }

  void give_back(Sequence& sequence) {
    for (auto block = sequence.blocks.rbegin(); block != sequence.blocks.rend(); ++block) {
      if (--blocks_[*block].users > 0) continue;
      if (blocks_[*block].holds.empty()) {
        free_.push_front(*block);
      } else {
        free_.push_back(*block);
      }
    }
    sequence.blocks.clear();
  }

  const EngineConfig& config_;
  std::vector<Block> blocks_;
  std::list<std::size_t> free_;
  std::deque<Sequence> running_;
  std::deque<Sequence> waiting_;
  std::int64_t budget_ = 0;
  std::int64_t published_ = 0;
  std::uint64_t made_ = 0;
  Step step_;
};

class Told : public EngineSink {
 public:
  std::vector<std::string> events;
  std::int64_t found = 0;
  std::int64_t preemptions = 0;
  void on_event(const EngineEvent& event) override {
    if (event.kind == EngineEvent::Kind::started) {
      events.push_back("started " + std::to_string(event.id) + " " + std::to_string(event.count.value()));
      found += event.count.value();
    } else if (event.kind == EngineEvent::Kind::preempted) {
      events.push_back("preempted " + std::to_string(event.id));
      ++preemptions;
    }
  }
};

TEST(PrefixCacheInTheScheduler, DoesStepByStepWhatAPlainOneThatComparesTokensDoes) {
  Random random(11);
  std::int64_t found = 0;
  std::int64_t preemptions = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    EngineConfig config = small(6 + static_cast<std::int64_t>(random.below(30)));
    config.slots = 1 + static_cast<std::int64_t>(random.below(6));
    config.step_token_budget = config.slots + static_cast<std::int64_t>(random.below(40));
    config.admit_whole_prompt = random.below(2) == 0;
    const auto prefix_tokens = static_cast<std::int64_t>(1 + random.below(12));
    const std::int64_t room = config.model_length().value();
    Rank rank(config);
    PlainRank plain(config);
    std::vector<Ids> seen = {{1, 2, 3}};
    for (RequestId id = 1; id < 200; ++id) {
      if (random.below(3) != 0) {
        Ids ids = seen[random.below(seen.size())];
        ids.resize(random.below(ids.size() + 1));
        for (auto fresh = random.below(4); fresh > 0; --fresh) ids.push_back(random.below(50));
        const auto covered = std::max<std::int64_t>(1, static_cast<std::int64_t>(ids.size()) * prefix_tokens);
        const std::int64_t prompt = std::min(room - 1, covered + static_cast<std::int64_t>(random.below(3)));
        const std::int64_t output =
            std::min<std::int64_t>(room - prompt, 1 + static_cast<std::int64_t>(random.below(12)));
        rank.submit(with_prefix(request(id, prompt, output), ids, prefix_tokens));
        plain.submit(id, ids, prefix_tokens, prompt, output);
        if (!ids.empty()) seen.push_back(ids);
      }
      if (random.below(12) == 0) {
        const RequestId victim = id - random.below(std::min<RequestId>(id, 6));
        static_cast<void>(rank.abort(victim));
        plain.abort(victim);
      }
      Told told;
      const RankStep step = rank.schedule(at_ms(0), told);
      const PlainRank::Step expected = plain.schedule();
      ASSERT_EQ(told.events, expected.events);
      ASSERT_EQ(step.new_tokens.value(), expected.new_tokens);
      ASSERT_EQ(step.kv_tokens.value(), expected.kv_tokens);
      ASSERT_DOUBLE_EQ(step.prefill_context, expected.context);
      ASSERT_TRUE(rank.check().has_value()) << rank.check().error().message;
      rank.complete(at_ms(1), told);
      plain.complete();
      ASSERT_TRUE(rank.check().has_value()) << rank.check().error().message;
      ASSERT_EQ(rank.books().used_blocks, plain.used());
      found += told.found;
      preemptions += told.preemptions;
    }
  }
  EXPECT_GT(found, 20'000);  // the loads are hard enough to mean something
  EXPECT_GT(preemptions, 300);
}

/// Keeps what it is told of.
struct Watcher final : CacheObserver {
  void stored(std::uint64_t hash, std::uint64_t parent, const PromptPrefix& prefix, std::int64_t block) override {
    EXPECT_TRUE(found.insert(hash).second) << "it could be found before";
    EXPECT_EQ(parent == 0, block == 0);
    EXPECT_LT(static_cast<std::size_t>(block), prefix.chain.size());
    EXPECT_TRUE(block == 0 || found.contains(parent)) << "ends go before beginnings, so it has its parent";
    ++told;
  }
  void removed(std::uint64_t hash) override { EXPECT_EQ(found.erase(hash), 1U); }
  std::set<std::uint64_t> found;
  std::int64_t told = 0;
};

TEST(PrefixCacheInTheScheduler, AnObserverKnowsWhatCanBeFound) {
  Random random(12);
  const EngineConfig config = small(30);
  Rank rank(config);
  Watcher watcher;
  rank.cache()->observe(&watcher);
  for (RequestId id = 1; id < 3000; ++id) {
    Ids ids;
    for (int block = 0; block < 12; ++block) ids.push_back(random.below(2));
    auto prefix = std::make_shared<PromptPrefix>(*prefix_of(ids, 4));
    prefix->over_output = true;
    EngineRequest wanted =
        request(id, 1 + static_cast<std::int64_t>(random.below(40)), 1 + static_cast<std::int64_t>(random.below(8)));
    wanted.prefix = std::move(prefix);
    rank.submit(wanted);
    if (random.below(10) == 0) static_cast<void>(rank.abort(id - random.below(std::min<RequestId>(id, 4))));
    Told told;
    static_cast<void>(rank.schedule(at_ms(0), told));
    rank.complete(at_ms(1), told);
    ASSERT_EQ(watcher.found.size(), rank.cache()->findable());
  }
  EXPECT_GT(watcher.told, 1000);
  rank.cache()->clear();
  EXPECT_EQ(rank.cache()->findable(), 0U);
  ASSERT_TRUE(rank.check().has_value()) << rank.check().error().message;
}

// --- by hand -------------------------------------------------------------------------------------------------------

TEST(PrefixCacheInTheScheduler, WhatWasComputedOnceIsSkippedButForTheLastToken) {
  auto engine = make(small(100));
  Recorder seen;
  submit(*engine, 0, with_prefix(request(1, 16, 1), {1, 2, 3, 4}, 4));
  run_dry(*engine, seen);
  submit(*engine, 100, with_prefix(request(2, 16, 1), {1, 2, 3, 4}, 4));
  submit(*engine, 100, with_prefix(request(3, 17, 1), {1, 2, 3, 4}, 4));
  submit(*engine, 100, with_prefix(request(4, 16, 1), {1, 2, 9, 4}, 4));
  submit(*engine, 100, request(5, 16, 1));
  run_dry(*engine, seen);
  // All of 16 tokens are there, and of those the last block must be computed for its last token; 17 leave one.
  EXPECT_EQ(seen.step_tokens(), (std::vector<std::int64_t>{16, 4 + 1 + 8 + 16}));
  EXPECT_EQ(engine->gauges(0).prefix_queries, Tokens(16 + 16 + 17 + 16 + 16));
  EXPECT_EQ(engine->gauges(0).prefix_hits, Tokens(12 + 16 + 8));
}

TEST(PrefixCacheInTheScheduler, OneScheduledBehindAnotherFindsItsBlocksInTheSameStep) {
  auto engine = make(small(100));
  Recorder seen;
  submit(*engine, 0, with_prefix(request(1, 40, 1), Ids(10, 7), 4));
  submit(*engine, 0, with_prefix(request(2, 40, 1), Ids(10, 7), 4));
  run_dry(*engine, seen);
  EXPECT_EQ(seen.step_tokens(), (std::vector<std::int64_t>{40 + 4}));
}

TEST(PrefixCacheInTheScheduler, APreemptedRequestFindsItsOwnBlocksAgain) {
  EngineConfig config = small(6);
  auto engine = make(config);
  Recorder seen;
  submit(*engine, 0, with_prefix(request(1, 8, 9), {1, 1}, 4));
  submit(*engine, 0, with_prefix(request(2, 8, 9), {2, 2}, 4));
  run_dry(*engine, seen);
  EXPECT_GT(engine->gauges(0).preemptions, 0);
  std::vector<std::int64_t> found;
  for (const auto& event : seen.events) {
    if (event.kind == EngineEvent::Kind::started && event.id == 2) found.push_back(event.count.value());
  }
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], 0);
  EXPECT_GE(found[1], 8);
  EXPECT_EQ(engine->gauges(0).prefix_hits, Tokens(0)) << "counted once a request, when it first enters";
}

TEST(PrefixCacheInTheScheduler, UnderPressureTheEndOfWhatWasLongestUnusedGoesFirst) {
  auto engine = make(small(10));
  Recorder seen;
  submit(*engine, 0, with_prefix(request(1, 24, 1), {1, 2, 3, 4, 5, 6}, 4));
  run_dry(*engine, seen);
  submit(*engine, 100, with_prefix(request(2, 28, 1), {11, 12, 13, 14, 15, 16, 17}, 4));
  run_dry(*engine, seen);  // takes the 4 that hold nothing, and the last 3 of the first
  submit(*engine, 200, with_prefix(request(3, 24, 1), {1, 2, 3, 4, 5, 6}, 4));
  run_dry(*engine, seen);
  EXPECT_EQ(engine->gauges(0).prefix_hits, Tokens(12));
}

TEST(PrefixCacheInTheScheduler, ATokenCostsNoAllocation) {
  EngineConfig config = small(100'000);
  config.slots = 64;
  auto engine = make(config);
  for (RequestId id = 0; id < 64; ++id) submit(*engine, 0, with_prefix(request(id, 20, 5000), {id, 1}, 10));
  Told told;
  for (int step = 0; step < 100; ++step) engine->advance(*engine->next_event(), told);
  const std::int64_t before = allocations();
  for (int step = 0; step < 4000; ++step) engine->advance(*engine->next_event(), told);
  EXPECT_EQ(allocations(), before);
}

TEST(PrefixCacheInTheScheduler, IsRefusedWhereNothingIsPrefilled) {
  EngineConfig config = small(10);
  config.law = RateLaw{{10}};
  EXPECT_NE(validate(config).error().message.find("prefix_cache"), std::string::npos);
  config.law = StepLaw{.fixed_ms = 1, .prompt_kv_given = true};
  EXPECT_NE(validate(config).error().message.find("prefix_cache"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::engine
