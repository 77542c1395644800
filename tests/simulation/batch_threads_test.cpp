#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "simulation/batch.hpp"
#include "simulation/results.hpp"
#include "simulation/support/settings.hpp"

namespace evenkeel::simulation {
namespace {

using namespace testing;

TEST(RunAll, SeedsInParallelGiveTheBytesOfOneAfterTheOther) {
  Options written;
  written.workers = 3;
  written.slots = 4;
  written.sync = true;
  written.outputs = "lognormal:50:0.9";
  written.steps = 400;
  const Setting setting = parsed_or_fail(written);
  const auto policies = routing::PolicySpec::parse_list("least_requests,random,br0,brh[forecast=oracle]").value();
  BatchOptions options;
  options.seeds = 4;
  std::uint64_t serial_steps = 0;
  options.progress = [&](std::uint64_t steps) { serial_steps = steps; };
  const auto serial = run_all(setting, policies, options);
  std::uint64_t parallel_steps = 0;
  options.jobs = 4;
  options.progress = [&](std::uint64_t steps) { parallel_steps = steps; };
  const auto parallel = run_all(setting, policies, options);
  ASSERT_TRUE(serial && parallel);
  EXPECT_EQ(to_json(setting, *serial, {}), to_json(setting, *parallel, {}));
  EXPECT_GT(serial_steps, 16 * 400U);
  EXPECT_EQ(serial_steps, parallel_steps);
}

TEST(RunAll, TheCallerHearsOfItselfAlsoWithOneThread) {
  Options written;
  written.steps = 50;
  written.outputs = "fixed:3";
  const Setting setting = parsed_or_fail(written);
  BatchOptions options;
  std::set<std::thread::id> tellers;
  options.progress = [&](std::uint64_t) { tellers.insert(std::this_thread::get_id()); };
  ASSERT_TRUE(run_all(setting, routing::PolicySpec::parse_list("br0").value(), options));
  EXPECT_EQ(tellers, std::set{std::this_thread::get_id()}) << "a run that is long in a step would be told of by nobody";
}

TEST(RunAll, TheFirstErrorEndsAllThreads) {
  Options written;
  written.steps = 400;
  written.sync = true;
  Setting setting = parsed_or_fail(written);
  setting.engine.kv_capacity = Tokens(160);
  BatchOptions options;
  options.seeds = 8;
  options.jobs = 4;
  const auto made = run_all(setting, routing::PolicySpec::parse_list("br0").value(), options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("prompt"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::simulation
