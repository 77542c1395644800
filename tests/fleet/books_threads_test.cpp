// Leases of one worker opened, fed and ended by several threads at once, while another reads the books.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "fleet/books.hpp"

namespace evenkeel::fleet {
namespace {

class CountEnds final : public LeaseObserver {
 public:
  std::array<std::atomic<int>, all_outcomes.size()> of{};
  void lease_ended(const LeaseSummary& summary) override { ++of[static_cast<std::size_t>(summary.outcome)]; }
};

/// Opens and ends `leases` leases; returns the output tokens it booked.
std::int64_t work(WorkerBooks& books, CountEnds& ends, const Clock& clock, std::uint64_t seed, int leases) {
  Random random(seed);
  std::int64_t booked = 0;
  std::vector<Lease> open;
  for (int i = 0; i < leases; ++i) {
    const auto id = seed * 1000000 + static_cast<std::uint64_t>(i);
    open.emplace_back(books, ends, clock, RequestId{id}, WorkerId{0}, ModelId{0},
                      Tokens(static_cast<std::int64_t>(random.below(100))));
    for (auto tokens = random.below(4); tokens > 0; --tokens) {
      open.back().generated(Tokens(1));
      ++booked;
    }
    if (open.size() > random.below(4)) {
      open.front().end(Outcome::completed);
      open.erase(open.begin());
    }
  }
  for (Lease& lease : open) lease.end(Outcome::worker_fault);
  return booked;
}

TEST(Books, LoseNothingBetweenThreads) {
  constexpr int threads = 4;
  constexpr int each = 20000;
  const ManualClock clock;
  WorkerBooks books;
  CountEnds ends;
  std::atomic<std::int64_t> booked{0};
  std::atomic<bool> done{false};
  std::atomic<int> unsound{0};
  std::thread reader([&] {
    while (!done) unsound += books.sound() ? 0 : 1;
  });
  std::vector<std::thread> crew;
  for (std::uint64_t t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] { booked += work(books, ends, clock, t + 1, each); });
  }
  for (std::thread& thread : crew) thread.join();
  done = true;
  reader.join();

  EXPECT_EQ(unsound, 0) << "read as unsound while leases came and went";
  EXPECT_TRUE(books.sound());
  EXPECT_EQ(books.load().in_flight, 0);
  EXPECT_EQ(books.load().kv_tokens(), Tokens(0));
  EXPECT_EQ(books.load().queued_prompt, Tokens(0));
  EXPECT_EQ(books.generated_ever(), booked);
  EXPECT_EQ(books.leases_begun(), static_cast<std::uint64_t>(threads) * each);
  EXPECT_EQ(books.leases_ended(), static_cast<std::uint64_t>(threads) * each);
  EXPECT_EQ(
      ends.of[static_cast<std::size_t>(Outcome::completed)] + ends.of[static_cast<std::size_t>(Outcome::worker_fault)],
      threads * each);
}

/// One lease at a time, so that the books go through zero all the while: the reader must not mistake a lease
/// that came and went between two of its loads for a residue.
TEST(Books, ReadAsSoundWhileTheyPassThroughZero) {
  const ManualClock clock;
  WorkerBooks books;
  CountEnds ends;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 300000; ++i) {
      Lease lease(books, ends, clock, RequestId{i}, WorkerId{0}, ModelId{0}, Tokens(10));
      lease.generated(Tokens(1));
    }
    done = true;
  });
  long unsound = 0;
  while (!done) unsound += books.sound() ? 0 : 1;
  writer.join();
  EXPECT_EQ(unsound, 0);
}

}  // namespace
}  // namespace evenkeel::fleet
