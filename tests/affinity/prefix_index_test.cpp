// The index against a plain one that keeps a list of whole prompt beginnings a worker and walks it.
#include "affinity/prefix_index.hpp"

#include <algorithm>
#include <list>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/support/counting_new.hpp"

namespace evenkeel::affinity {
namespace {

using Ids = std::vector<std::uint64_t>;

std::vector<ChainHash> chain_of(const Ids& ids) {
  std::vector<ChainHash> chain;
  append_id_chain(ids, 9, chain);
  return chain;
}

Time at_s(double s) { return Time(from_seconds(s)); }

/// Where beginnings are kept: after each of the first 64 blocks, then after every second to 128, every fourth to 256,
/// and so on.
std::vector<std::size_t> places(std::size_t length) {
  std::vector<std::size_t> all;
  for (std::size_t at = 0, step = 1;; at += step) {
    if (at == 64 || at == 128 || at == 256 || at == 512) step *= 2;
    if (at > 0) all.push_back(at);
    if (at + step > length) return all;
  }
}

/// What the index should know: of each worker the beginnings it holds, newest first.
class PlainIndex {
 public:
  PlainIndex(std::vector<std::size_t> capacities, Duration lifetime)
      : capacities_(std::move(capacities)), lifetime_(lifetime), held_(capacities_.size()) {}

  void insert(std::size_t worker, const Ids& ids, Time now) {
    auto& held = held_[worker];
    const auto all = places(std::min(ids.size(), capacities_[worker]));
    for (std::size_t i = all.size(); i-- > 0;) {
      const Ids beginning(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(all[i]));
      std::erase_if(held, [&](const Entry& entry) { return entry.ids == beginning; });
      const std::size_t size = all[i] - (i > 0 ? all[i - 1] : 0);
      while (blocks(worker) + size > capacities_[worker]) held.pop_back();
      held.push_front({beginning, size, now});
    }
  }
  void forget(std::size_t worker) { held_[worker].clear(); }
  void expire(Time now) {
    for (auto& of : held_) std::erase_if(of, [&](const Entry& entry) { return entry.touched < now - lifetime_; });
  }
  void set_capacity(std::size_t worker, std::size_t capacity) {
    capacities_[worker] = capacity;
    while (blocks(worker) > capacity) held_[worker].pop_back();
  }
  [[nodiscard]] std::size_t blocks(std::size_t worker) const {
    return std::accumulate(held_[worker].begin(), held_[worker].end(), std::size_t{0},
                           [](std::size_t sum, const Entry& entry) { return sum + entry.blocks; });
  }
  [[nodiscard]] std::uint32_t hit(std::size_t worker, const Ids& ids) const {
    std::size_t longest = 0;
    for (const std::size_t length : places(ids.size())) {
      const bool held = std::any_of(held_[worker].begin(), held_[worker].end(), [&](const Entry& entry) {
        return entry.ids.size() == length && std::equal(entry.ids.begin(), entry.ids.end(), ids.begin());
      });
      if (!held) break;
      longest = length;
    }
    return static_cast<std::uint32_t>(longest);
  }

 private:
  struct Entry {
    Ids ids;
    std::size_t blocks;
    Time touched;
  };
  std::vector<std::size_t> capacities_;
  Duration lifetime_;
  std::vector<std::list<Entry>> held_;
};

/// Prompts that share beginnings: each goes on from a random place in one of those before it.
class Prompts {
 public:
  explicit Prompts(std::uint64_t seed) : random_(seed) {}
  const Ids& next() {
    Ids ids;
    if (!all_.empty() && random_.below(4) != 0) {
      const Ids& from = all_[random_.below(all_.size())];
      ids.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(random_.below(from.size() + 1)));
    }
    const auto fresh = random_.below(8) == 0 ? random_.below(150) : random_.below(6);
    for (std::uint64_t i = 0; i < fresh || ids.empty(); ++i) ids.push_back(random_.below(3) == 0 ? 1 : next_id_++);
    if (all_.size() < 60) return all_.emplace_back(std::move(ids));
    return all_[random_.below(all_.size())] = std::move(ids);
  }

 private:
  Random random_;
  std::uint64_t next_id_ = 100;
  std::vector<Ids> all_;
};

void compare(std::size_t workers, std::uint64_t seed) {
  Random random(seed);
  Prompts prompts(seed);
  std::vector<std::size_t> capacities(workers);
  for (auto& each : capacities) each = random.below(400);
  const Duration lifetime = std::chrono::seconds(30);
  PrefixIndex index({.total_blocks = 1000 * workers, .lifetime = lifetime});
  PlainIndex plain(capacities, lifetime);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    index.set_capacity(WorkerId{static_cast<std::uint32_t>(worker)}, capacities[worker]);
  }
  std::vector<std::uint32_t> matched(workers);
  Time now{};
  std::uint64_t hits = 0;
  for (int act = 0; act < 400; ++act) {
    now += std::chrono::milliseconds(100) * static_cast<std::int64_t>(random.below(15));
    const auto worker = static_cast<std::uint32_t>(random.below(workers));
    const Ids ids = prompts.next();
    const auto chain = chain_of(ids);
    index.expected_hit(chain, matched);
    for (std::size_t each = 0; each < workers; ++each) ASSERT_EQ(matched[each], plain.hit(each, ids)) << act;
    hits += std::accumulate(matched.begin(), matched.end(), std::uint64_t{0});
    index.insert(WorkerId{worker}, chain, now);
    plain.insert(worker, ids, now);
    if (random.below(50) == 0) {
      while (index.expire(now, 3)) continue;
      plain.expire(now);
    }
    if (random.below(100) == 0) {
      index.forget(WorkerId{worker});
      plain.forget(worker);
    }
    if (random.below(100) == 0) {
      const std::size_t capacity = random.below(400);
      index.set_capacity(WorkerId{worker}, capacity);
      plain.set_capacity(worker, capacity);
    }
    ASSERT_EQ(index.blocks(WorkerId{worker}), plain.blocks(worker));
  }
  EXPECT_GT(hits, 1000U) << "the prompts share too little to mean something";
}

TEST(PrefixIndex, KnowsWhatAPlainListOfBeginningsKnows) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    compare(1 + seed, seed);
  }
}

TEST(PrefixIndex, AlsoOfMoreThan64Workers) { compare(130, 77); }

TEST(PrefixIndex, UnderPressureABeginningOutlivesItsEnd) {
  PrefixIndex index;
  index.set_capacity(WorkerId{0}, 10);
  const auto first = chain_of({1, 2, 3, 4, 5, 6});
  index.insert(WorkerId{0}, first, at_s(1));
  index.insert(WorkerId{0}, chain_of({11, 12, 13, 14, 15, 16, 17}), at_s(2));
  std::vector<std::uint32_t> matched(1);
  index.expected_hit(first, matched);
  EXPECT_EQ(matched[0], 3U);
}

TEST(PrefixIndex, OfAPromptLongerThanTheCacheTheBeginningIsKept) {
  PrefixIndex index;
  index.set_capacity(WorkerId{0}, 3);
  const auto chain = chain_of({1, 2, 3, 4, 5});
  index.insert(WorkerId{0}, chain, at_s(1));
  std::vector<std::uint32_t> matched(1);
  index.expected_hit(chain, matched);
  EXPECT_EQ(matched[0], 3U);
}

TEST(PrefixIndex, WorkersNobodyNamedAreIgnoredAndHoldNothing) {
  PrefixIndex index;
  const auto chain = chain_of({1, 2});
  std::vector<std::uint32_t> matched(4, 7);
  index.expected_hit(chain, matched);
  EXPECT_EQ(matched, std::vector<std::uint32_t>(4, 0));
  index.set_capacity(WorkerId{1}, 8);
  index.insert(WorkerId{3}, chain, at_s(1));
  index.insert(WorkerId{0}, chain, at_s(1));
  index.insert(WorkerId{1}, chain, at_s(1));
  index.forget(WorkerId{9});
  index.expected_hit(chain, matched);
  EXPECT_EQ(matched, (std::vector<std::uint32_t>{0, 2, 0, 0}));
}

TEST(PrefixIndex, TheBoundOfAllIsSharedAndWhatTheModestLeaveGoesToTheOthers) {
  PrefixIndex index({.total_blocks = 100});
  const std::vector<std::size_t> wanted = {10, 1000, 60, 1000};
  for (std::uint32_t worker = 0; worker < wanted.size(); ++worker) {
    index.set_capacity(WorkerId{worker}, wanted[worker]);
  }
  EXPECT_EQ(index.capacity(WorkerId{0}), 10U);
  for (std::uint32_t worker = 1; worker < 4; ++worker) EXPECT_EQ(index.capacity(WorkerId{worker}), 30U);
  Ids ids(500);
  std::iota(ids.begin(), ids.end(), 1);
  for (std::uint32_t worker = 0; worker < 4; ++worker) index.insert(WorkerId{worker}, chain_of(ids), at_s(1));
  std::vector<std::uint32_t> matched(4);
  index.expected_hit(chain_of(ids), matched);
  EXPECT_EQ(matched, (std::vector<std::uint32_t>{10, 30, 30, 30}));
}

TEST(PrefixIndex, TakesTheMemoryItStatesAndInUseNoneBeyond) {
  for (const std::size_t workers : {8, 64, 200}) {
    const std::size_t blocks = 2000;
    PrefixIndex index({.total_blocks = workers * blocks});
    for (std::uint32_t worker = 0; worker < workers; ++worker) index.set_capacity(WorkerId{worker}, blocks);
    const auto stated = PrefixIndex::bytes_per_block(workers) * static_cast<double>(workers * blocks);
    EXPECT_NEAR(static_cast<double>(index.memory_bytes()), stated, 0.01 * stated);
    Random random(3);
    std::vector<std::vector<ChainHash>> chains;
    for (int i = 0; i < 200; ++i) {
      Ids ids(1 + random.below(400));
      for (auto& id : ids) id = random.next();
      chains.push_back(chain_of(ids));
    }
    std::vector<std::uint32_t> matched(workers);
    const std::int64_t before = engine::testing::allocations();
    for (int i = 0; i < 3000; ++i) {
      const auto& chain = chains[random.below(chains.size())];
      index.expected_hit(chain, matched);
      index.insert(WorkerId{static_cast<std::uint32_t>(random.below(workers))}, chain, at_s(i));
      index.expire(at_s(i));
    }
    EXPECT_EQ(engine::testing::allocations(), before);
  }
}

}  // namespace
}  // namespace evenkeel::affinity
