// Workers that only prefill are a set of their own: another rule chooses among them, and what ends there teaches nobody
// how long answers are.
#include <map>
#include <set>

#include "dispatch/support/desk.hpp"

namespace evenkeel::dispatch {
namespace {

using namespace testing;

constexpr ModelId prefill_of_a{7};

/// Counts what it is told and asked.
class Watching final : public routing::Policy {
 public:
  explicit Watching(int& plans, int& ends) : plans_(plans), ends_(ends) {}
  [[nodiscard]] std::string_view name() const override { return "watching"; }
  [[nodiscard]] bool bounds_overtaking() const override { return true; }
  void plan(std::span<const fleet::WaitingView> waiting, const fleet::FleetView&, Time, Random&,
            std::vector<fleet::Placement>& placements) override {
    ++plans_;
    for (std::uint32_t i = 0; i < waiting.size(); ++i)
      placements.push_back({i, waiting[i].candidates[0], "first", 0, 1});
  }
  void ended(const fleet::LeaseSummary&, Time) override { ++ends_; }

 private:
  int& plans_;
  int& ends_;
};

WorkerId prefill_worker(Desk& desk, std::string name, std::int64_t slots) {
  WorkerSpec spec;
  spec.name = std::move(name);
  spec.models = {prefill_of_a};
  spec.max_in_flight = slots;
  spec.role = fleet::Role::prefill;
  const WorkerId id = desk.dispatcher.add_worker(std::move(spec));
  desk.dispatcher.set_state(id, WorkerState::routable);
  return id;
}

Submission prefilling(std::int64_t tokens, std::uint64_t client = 1) {
  Submission what = asking(client, 0, tokens);
  what.model = prefill_of_a;
  return what;
}

TEST(PrefillSet, IsPlacedByOutstandingPromptTokensWhateverThePolicyIs) {
  int plans = 0, ends = 0;
  Desk desk({}, std::make_unique<Watching>(plans, ends));
  desk.worker("decode", 10);
  const WorkerId first = prefill_worker(desk, "p0", 10);
  const WorkerId second = prefill_worker(desk, "p1", 10);
  // Longest processing time against one long prompt: the long one alone, all others at the other worker.
  std::vector<SlipPtr> slips = {desk.submit(prefilling(10000))};
  for (int i = 0; i < 9; ++i) slips.push_back(desk.submit(prefilling(1000)));
  std::map<WorkerId, int> there;
  for (const auto& slip : slips) {
    ASSERT_TRUE(slip->placed());
    EXPECT_EQ(slip->receipt.policy, "least_prefill");
    ++there[slip->lease.worker()];
  }
  EXPECT_EQ(there[slips[0]->lease.worker()], 1);
  EXPECT_EQ(there[first] + there[second], 10);
  for (auto& slip : slips) slip->lease.end(fleet::Outcome::completed);
  EXPECT_EQ(plans, 0);
  EXPECT_EQ(ends, 0);
  const auto decode = desk.submit(asking());
  EXPECT_EQ(decode->receipt.policy, "watching");
  EXPECT_EQ(desk.dispatcher.workers().at(0).load.in_flight, 1);
  decode->lease.end(fleet::Outcome::completed);
  EXPECT_EQ(plans, 1);
  EXPECT_EQ(ends, 1);
}

TEST(PrefillSet, WaitsInItsOwnPoolAndIsBoundedInOvertakingByTheDefault) {
  int plans = 0, ends = 0;
  DispatcherOptions options;
  options.pool_timeout = seconds(1000);
  Desk desk(options, std::make_unique<Watching>(plans, ends));
  prefill_worker(desk, "p0", 1);
  std::vector<SlipPtr> slips = desk.submit(2, prefilling(10));
  const std::set<SlipPtr> earlier(slips.begin(), slips.end());
  const auto passed = desk.submit(prefilling(10));  // fair order puts every new client before a client's third
  const auto elsewhere = desk.submit(asking());     // nobody decodes: it is in nobody's way
  int overtook = 0;
  for (std::uint64_t client = 100; !passed->placed() && client < 300; ++client) {
    slips.push_back(desk.submit(prefilling(10, client)));
    for (std::size_t i = 0; i < slips.size(); ++i) {
      if (!slips[i]->placed()) continue;
      if (!earlier.contains(slips[i])) ++overtook;
      slips[i]->lease.end(fleet::Outcome::completed);
      slips.erase(slips.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  EXPECT_TRUE(passed->placed());
  EXPECT_EQ(overtook, default_overtake_cap);
  EXPECT_TRUE(elsewhere->waits());
}

}  // namespace
}  // namespace evenkeel::dispatch
