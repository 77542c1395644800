#include <gtest/gtest.h>

#include "engines/adapter.hpp"
#include "engines/wire_support.hpp"

namespace evenkeel::engines {
namespace {

Report read(const std::string& page) {
  const std::vector<std::string> bodies = {page};
  return adapter(Kind::vllm).read(bodies).whole;
}

TEST(Vllm, SumsItsRanksAndWeighsUseByCapacity) {
  const Report report = read(wire("vllm/metrics_two_ranks.txt"));
  EXPECT_EQ(report.running, 22);
  EXPECT_EQ(report.waiting, 4);
  EXPECT_EQ(report.kv_capacity, Tokens((25000 + 12500) * 16));
  EXPECT_EQ(report.kv_used, Tokens(25000 * 16 / 2 + 12500 * 16 / 8));
  EXPECT_EQ(report.preemptions_total, 7);
  EXPECT_EQ(report.slots, std::nullopt);
}

TEST(Vllm, TakesTheCapacityItStatesBeforeCountingBlocks) {
  const Report report = read(edited(wire("vllm/metrics_both_names.txt"), "num_gpu_blocks=\"1001\"",
                                    "kv_cache_size_tokens=\"8000\",num_gpu_blocks=\"1001\""));
  EXPECT_EQ(report.kv_capacity, Tokens(8000));
  EXPECT_EQ(report.kv_used, Tokens(2000));
}

TEST(Vllm, PrefersTheNewNameWhereBothAreShown) {
  const std::string page = wire("vllm/metrics_both_names.txt");
  EXPECT_EQ(read(page).kv_used, Tokens(4000));
  const std::string new_differs = edited(page, "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25",
                                         "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5");
  EXPECT_EQ(read(new_differs).kv_used, Tokens(8000));
}

TEST(Vllm, ReadsTheNamesOfV0) {
  const Report report = read(wire("vllm/metrics_v0.txt"));
  EXPECT_EQ(report.running, 30);
  EXPECT_EQ(report.waiting, 9 + 2) << "swapped requests wait as well";
  EXPECT_EQ(report.kv_capacity, Tokens(32000));
  EXPECT_EQ(report.kv_used, Tokens(24000));
  EXPECT_EQ(report.preemptions_total, 14);
}

TEST(Vllm, TellsWhetherItCachesPrefixesAndWhatGivesARestartAway) {
  const std::string page = wire("vllm/metrics.txt");
  EXPECT_EQ(read(page).prefix_caching, false);
  EXPECT_EQ(read(page).prompt_total, 100);
  EXPECT_EQ(read(page).started, std::nullopt);
  const auto with = [&](const std::string& value) {
    return read(edited(page, "enable_prefix_caching=\"False\"", "enable_prefix_caching=\"" + value + "\""));
  };
  EXPECT_EQ(with("True").prefix_caching, true);
  EXPECT_EQ(with("None").prefix_caching, std::nullopt);
  EXPECT_EQ(read(page + "process_start_time_seconds 1.79e+09\n").started, 1.79e9);
}

TEST(Vllm, AnImpossibleValueTakesItsFactAwayAndNoOther) {
  const std::string page = wire("vllm/metrics_two_ranks.txt");
  const auto with_running = [&](const std::string& value) {
    return read(edited(page, "v2\\\"\"} 17.0", "v2\\\"\"} " + value));
  };
  for (const auto* value : {"NaN", "+Inf", "-1.0", "-Inf", "seventeen"}) {
    EXPECT_EQ(with_running(value).running, std::nullopt) << value;
    EXPECT_EQ(with_running(value).waiting, 4) << value;
  }
  const Report over_full = read(edited(page, "v2\\\"\"} 0.125", "v2\\\"\"} 1.5"));
  EXPECT_EQ(over_full.kv_used, std::nullopt);
  EXPECT_EQ(over_full.kv_capacity, Tokens(600000));
  const Report unprofiled = read(edited(page, "num_gpu_blocks=\"12501\"", "num_gpu_blocks=\"None\""));
  EXPECT_EQ(unprofiled.kv_used, std::nullopt);
  EXPECT_EQ(unprofiled.kv_capacity, std::nullopt);
  EXPECT_EQ(unprofiled.running, 22);
}

TEST(Vllm, APageCutAnywhereNeverTellsMoreThanTheWhole) {
  const std::string page = wire("vllm/metrics_two_ranks.txt");
  for (std::size_t length = 0; length < page.size(); ++length) {
    const Report report = read(page.substr(0, length));
    ASSERT_LE(report.running.value_or(0), 22) << length;
    ASSERT_LE(report.kv_used.value_or(Tokens(0)), Tokens(225000)) << length;
  }
}

TEST(Vllm, TellsNothingWithoutAPage) {
  EXPECT_FALSE(read("").any());
  EXPECT_FALSE(read("<html>404</html>").any());
  EXPECT_FALSE(adapter(Kind::vllm).read({}).whole.any());
  EXPECT_FALSE(read(std::string(9U << 20U, '\n') + "vllm:num_requests_running 1\n").any()) << "over the bound";
  EXPECT_TRUE(read("vllm:num_requests_running 0\n").any());
}

}  // namespace
}  // namespace evenkeel::engines
