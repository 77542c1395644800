#include "simulation/policies.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "simulation/stale_policy.hpp"

namespace evenkeel::simulation {
namespace {

TEST(Oracle, KnowsWhatIsLeft) {
  const auto fates = std::make_shared<Fates>();
  fates->add(RequestId{3}, 100);
  const OracleForecast oracle(fates);
  fleet::RunningView request;
  request.id = RequestId{3};
  request.generated = 40;
  EXPECT_EQ(oracle.remaining(request, 80), 60);
  EXPECT_EQ(oracle.remaining(request, 50), 50);
  EXPECT_EQ(oracle.survival(request, 59), 1);
  EXPECT_EQ(oracle.survival(request, 60), 0);
}

TEST(MakePolicy, TheOracleIsAForecastHereOnly) {
  EXPECT_TRUE(check_policy(routing::PolicySpec::parse("brh[forecast=oracle]").value()));
  const auto unknown = check_policy(routing::PolicySpec::parse("brh[forecast=orakel]").value());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("oracle"), std::string::npos);
}

/// Keeps what it was shown of the workers.
class Spy final : public routing::Policy {
 public:
  explicit Spy(std::vector<fleet::Load>& loads, std::vector<std::size_t>& running) : loads_(loads), running_(running) {}
  [[nodiscard]] std::string_view name() const override { return "spy"; }
  void plan(std::span<const fleet::WaitingView>, const fleet::FleetView& fleet, Time, Random&,
            std::vector<fleet::Placement>&) override {
    loads_.clear();
    running_.clear();
    for (const auto& worker : fleet.workers) {
      loads_.push_back(worker.load);
      running_.push_back(worker.running.size());
    }
  }

 private:
  std::vector<fleet::Load>& loads_;
  std::vector<std::size_t>& running_;
};

fleet::RunningView request(std::uint64_t id, std::int64_t prompt, std::int64_t generated) {
  return {RequestId{id}, Tokens(prompt), generated, 0};
}

// Two steps old: then worker 0 ran 1 and 2. Since, 1 has ended, 2 has grown, 3 has come, and 4 has come and gone.
TEST(StalePolicy, ShowsTheOldReportAndWhatWasSentSince) {
  std::vector<fleet::Load> loads;
  std::vector<std::size_t> running;
  StalePolicy stale(std::make_unique<Spy>(loads, running), 2);
  EXPECT_TRUE(stale.wants_running());
  stale.report({{request(2, 50, 7), request(1, 100, 20)}, {}});
  stale.report({{request(1, 100, 21), request(2, 50, 8), request(4, 9, 0)}, {}});
  stale.report({{request(2, 50, 9), request(3, 30, 1)}, {}});

  const std::vector<fleet::RunningView> now{request(2, 50, 9), request(3, 30, 1)};
  std::vector<fleet::WorkerView> workers(2);
  workers[1].id = WorkerId{1};
  workers[0].max_in_flight = 4;
  workers[0].load = {2, Tokens(80), Tokens(0), Tokens(10)};
  workers[0].running = now;
  fleet::FleetView view;
  view.workers = workers;
  Random random;
  std::vector<fleet::Placement> placements;
  const auto plan = [&] { stale.plan({}, view, Time(), random, placements); };
  plan();
  EXPECT_EQ(loads[0].prompt_tokens, Tokens(50 + 100 + 30));
  EXPECT_EQ(loads[0].generated_tokens, Tokens(7 + 20));
  EXPECT_EQ(loads[0].queued_prompt, Tokens(30));
  EXPECT_EQ(loads[0].in_flight, 2);  // slots are known first-hand
  EXPECT_EQ(running[0], 3U);
  EXPECT_EQ(loads[1].kv_tokens(), Tokens(0));

  stale.report({{request(2, 50, 10), request(3, 30, 2)}, {}});
  plan();  // one step on, of the second report
  EXPECT_EQ(loads[0].generated_tokens, Tokens(8 + 21));
  EXPECT_EQ(loads[0].prompt_tokens, Tokens(50 + 100 + 9 + 30));
}

}  // namespace
}  // namespace evenkeel::simulation
