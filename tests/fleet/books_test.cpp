// Leases and books against an independent model of what each open lease holds.
#include "fleet/books.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::fleet {
namespace {

class Ends final : public LeaseObserver {
 public:
  std::vector<LeaseSummary> seen;
  void lease_ended(const LeaseSummary& summary) override { seen.push_back(summary); }
};

struct Counter {
  ManualClock clock;
  WorkerBooks books;
  Ends ends;
  std::uint64_t next = 1;

  Lease open(std::int64_t prompt) {
    return Lease(books, ends, clock, RequestId{next++}, WorkerId{3}, ModelId{7}, Tokens(prompt));
  }
};

void expect_load(const WorkerBooks& books, std::int64_t in_flight, std::int64_t prompt, std::int64_t queued,
                 std::int64_t generated) {
  const Load load = books.load();
  EXPECT_EQ(load.in_flight, in_flight);
  EXPECT_EQ(load.prompt_tokens, Tokens(prompt));
  EXPECT_EQ(load.queued_prompt, Tokens(queued));
  EXPECT_EQ(load.generated_tokens, Tokens(generated));
  EXPECT_EQ(load.kv_tokens(), Tokens(prompt + generated));
}

TEST(Lease, IsOnTheBooksFromItsFirstInstantToItsEnd) {
  Counter counter;
  Lease lease = counter.open(100);
  expect_load(counter.books, 1, 100, 100, 0);
  lease.generated(Tokens(1));
  expect_load(counter.books, 1, 100, 0, 1);
  lease.generated(Tokens(4));
  expect_load(counter.books, 1, 100, 0, 5);
  lease.end(Outcome::completed);
  expect_load(counter.books, 0, 0, 0, 0);
  EXPECT_FALSE(lease.open());
}

TEST(Lease, OwesNoPrefillOfWhatIsExpectedInThePrefixCache) {
  Counter counter;
  Lease one = counter.open(100);
  one.expect_hit(Tokens(70));
  expect_load(counter.books, 1, 100, 30, 0);
  one.settle(Tokens(120), Tokens(0));
  expect_load(counter.books, 1, 120, 50, 0);
  one.generated(Tokens(1));
  expect_load(counter.books, 1, 120, 0, 1);
  EXPECT_EQ(counter.books.prefilled_ever(), 50);
  one.settle(Tokens(60), Tokens(1));  // shorter than the hit
  EXPECT_EQ(counter.books.prefilled_ever(), 0);
  one.expect_hit(Tokens(10));  // too late
  expect_load(counter.books, 1, 60, 0, 1);
  Lease other = counter.open(100);
  other.expect_hit(Tokens(40));
  Lease moved = std::move(other);
  expect_load(counter.books, 2, 160, 60, 1);
  moved.end(Outcome::cancelled);
  one.end(Outcome::completed);
  expect_load(counter.books, 0, 0, 0, 0);
  EXPECT_TRUE(counter.books.sound());
}

TEST(Lease, TellsItsEndOnceAndTellsItTruly) {
  Counter counter;
  counter.clock.advance(std::chrono::seconds(5));
  {
    Lease lease = counter.open(100);
    lease.generated(Tokens(2));
    counter.clock.advance(std::chrono::milliseconds(1500));
    lease.end(Outcome::worker_fault);
    lease.end(Outcome::completed);
    lease.generated(Tokens(50));
    lease.settle(Tokens(1), Tokens(1));
  }
  ASSERT_EQ(counter.ends.seen.size(), 1U);
  const LeaseSummary& summary = counter.ends.seen.front();
  EXPECT_EQ(summary.request, RequestId{1});
  EXPECT_EQ(summary.worker, WorkerId{3});
  EXPECT_EQ(summary.model, ModelId{7});
  EXPECT_EQ(summary.outcome, Outcome::worker_fault);
  EXPECT_EQ(summary.prompt_tokens, Tokens(100));
  EXPECT_EQ(summary.output_tokens, Tokens(2));
  EXPECT_TRUE(summary.had_output);
  EXPECT_EQ(summary.held, std::chrono::milliseconds(1500));
  EXPECT_EQ(counter.books.generated_ever(), 2);
  expect_load(counter.books, 0, 0, 0, 0);
}

TEST(Lease, EndsAsCancelledWhenItIsDropped) {
  Counter counter;
  { const Lease lease = counter.open(10); }
  ASSERT_EQ(counter.ends.seen.size(), 1U);
  EXPECT_EQ(counter.ends.seen.front().outcome, Outcome::cancelled);
  EXPECT_FALSE(counter.ends.seen.front().had_output);
}

TEST(Lease, MovesWithoutTouchingTheBooks) {
  Counter counter;
  Lease first = counter.open(10);
  Lease second = std::move(first);
  EXPECT_FALSE(first.open());  // NOLINT(bugprone-use-after-move): what it is after a move is the question
  first.generated(Tokens(9));
  first.end(Outcome::completed);
  expect_load(counter.books, 1, 10, 10, 0);
  second.generated(Tokens(1));
  expect_load(counter.books, 1, 10, 0, 1);
  EXPECT_TRUE(counter.ends.seen.empty());
}

TEST(Lease, MovedOntoAnOpenOneEndsTheOneItReplaces) {
  Counter counter;
  Lease kept = counter.open(10);
  Lease replaced = counter.open(1000);
  replaced = std::move(kept);
  expect_load(counter.books, 1, 10, 10, 0);
  ASSERT_EQ(counter.ends.seen.size(), 1U);
  EXPECT_EQ(counter.ends.seen.front().prompt_tokens, Tokens(1000));
  Lease& alias = replaced;
  replaced = std::move(alias);
  EXPECT_TRUE(replaced.open());
  EXPECT_EQ(replaced.request(), RequestId{1});
}

TEST(Lease, SettlesUpAndDownBeforeTheFirstToken) {
  Counter counter;
  Lease lease = counter.open(100);
  lease.settle(Tokens(130), Tokens(0));
  expect_load(counter.books, 1, 130, 130, 0);
  lease.settle(Tokens(20), Tokens(0));
  expect_load(counter.books, 1, 20, 20, 0);
  EXPECT_EQ(counter.books.prefilled_ever(), 0);
}

TEST(Lease, SettlesUpAndDownAfterTheFirstToken) {
  Counter counter;
  Lease lease = counter.open(100);
  lease.generated(Tokens(10));
  lease.settle(Tokens(140), Tokens(25));
  expect_load(counter.books, 1, 140, 0, 25);
  EXPECT_EQ(counter.books.prefilled_ever(), 140);
  EXPECT_EQ(counter.books.generated_ever(), 25);
  lease.settle(Tokens(60), Tokens(3));
  expect_load(counter.books, 1, 60, 0, 3);
  EXPECT_EQ(counter.books.prefilled_ever(), 60);
  EXPECT_EQ(counter.books.generated_ever(), 3);
}

TEST(Lease, SettledWithOutputAloneHasEndedItsPrefill) {
  Counter counter;
  Lease lease = counter.open(100);  // an answer in one piece: the usage is the first that is heard of tokens
  lease.settle(Tokens(90), Tokens(40));
  expect_load(counter.books, 1, 90, 0, 40);
  EXPECT_EQ(counter.books.prefilled_ever(), 90);
  lease.end(Outcome::completed);
  EXPECT_TRUE(counter.ends.seen.front().had_output);
}

TEST(Lease, IgnoresImpossibleCounts) {
  Counter counter;
  Lease lease = counter.open(100);
  lease.generated(Tokens(0));
  lease.generated(Tokens(-5));
  lease.settle(Tokens(-1), Tokens(5));
  lease.settle(Tokens(5), Tokens(-1));
  expect_load(counter.books, 1, 100, 100, 0);
}

TEST(Lease, WithAnImpossiblePromptCountsNone) {
  Counter counter;
  const Lease lease = counter.open(-50);
  expect_load(counter.books, 1, 0, 0, 0);
  EXPECT_TRUE(counter.books.sound());
}

TEST(Lease, HeldForAnHourIsStillCounted) {
  Counter counter;
  const Lease lease = counter.open(10);
  counter.clock.advance(std::chrono::hours(1));
  expect_load(counter.books, 1, 10, 10, 0);
}

/// What one open lease must be holding, kept apart from the code under test.
struct Held {
  Lease lease;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  bool answered = false;
};

void expect_sum(const WorkerBooks& books, const std::vector<Held>& held) {
  std::int64_t prompt = 0, queued = 0, output = 0;
  for (const Held& one : held) {
    prompt += one.prompt;
    output += one.output;
    if (!one.answered) queued += one.prompt;
  }
  expect_load(books, static_cast<std::int64_t>(held.size()), prompt, queued, output);
}

/// One random thing that can happen to a lease; false if it ended.
bool random_event(Held& one, Random& random) {
  const auto amount = static_cast<std::int64_t>(random.below(50));
  switch (random.below(4)) {
    case 0:
      one.lease.generated(Tokens(amount));
      one.output += amount;
      one.answered = one.answered || amount > 0;
      return true;
    case 1: {
      const auto prompt = static_cast<std::int64_t>(random.below(3000));
      one.lease.settle(Tokens(prompt), Tokens(amount));
      one.prompt = prompt;
      one.output = amount;
      one.answered = one.answered || amount > 0;
      return true;
    }
    case 2: {
      Lease elsewhere = std::move(one.lease);
      one.lease = std::move(elsewhere);
      return true;
    }
    default:
      if (random.below(2) == 0) one.lease.end(all_outcomes[random.below(all_outcomes.size())]);
      return false;  // else dropped by the caller
  }
}

TEST(Books, EqualTheSumOfOpenLeasesUnderRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    Counter counter;
    std::vector<Held> held;
    std::size_t opened = 0;
    for (int i = 0; i < 3000; ++i) {
      if (held.empty() || random.below(5) < 2) {
        const auto prompt = static_cast<std::int64_t>(random.below(2000));
        held.push_back({counter.open(prompt), prompt, 0, false});
        ++opened;
      } else {
        const std::size_t at = random.below(held.size());
        if (!random_event(held[at], random)) {
          std::swap(held[at], held.back());
          held.pop_back();
        }
      }
      expect_sum(counter.books, held);
      ASSERT_TRUE(counter.books.sound());
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", operation " << i;
    }
    held.clear();
    expect_sum(counter.books, held);
    EXPECT_EQ(counter.books.leases_begun(), opened);
    EXPECT_EQ(counter.books.leases_ended(), opened);
    EXPECT_EQ(counter.ends.seen.size(), opened);
  }
}

}  // namespace
}  // namespace evenkeel::fleet
