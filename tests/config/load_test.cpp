#include <fstream>

#include <fmt/format.h>

#include "config/support.hpp"
#include "config/table.hpp"

namespace evenkeel::config {
namespace {

using namespace std::chrono_literals;

TEST(Load, NothingGivenIsTheDefaults) {
  const auto settings = of_flags({});
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(to_toml(*settings), to_toml(ServeSettings{}));
  EXPECT_TRUE(settings->workers.empty());
}

TEST(Load, ReadsEveryTable) {
  const auto settings = of_text(R"(
policy = "round_robin"
receipts = false
cors_origins = []
heartbeat = "15s"
seed = 7
[timeouts]
connect = 2          # seconds
first_byte = 0.5
[retry]
budget = 1
[health]
interval = "500ms"
[pool]
bytes = "1GiB"
[limits]
body = 1000
[[workers]]
url = "http://127.0.0.1:8000/base/"
models = ["a", "b"]
engine = "llama.cpp"
max_in_flight = 4
[[workers]]
url = "http://[::1]:8001"
[[models]]
name = "a"
aliases = ["gpt-4"]
timeouts = { silence = "1m" }
)");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->policy, "round_robin");
  EXPECT_FALSE(settings->receipts);
  EXPECT_TRUE(settings->cors_origins.empty());
  EXPECT_EQ(settings->heartbeat, 15s);
  EXPECT_EQ(settings->seed, 7U);
  EXPECT_EQ(settings->timeouts.connect, 2s);
  EXPECT_EQ(settings->timeouts.first_byte, 500ms);
  EXPECT_EQ(settings->retry.budget, 1.0);
  EXPECT_EQ(settings->health.interval, 500ms);
  EXPECT_EQ(settings->pool.bytes, Bytes(1LL << 30));
  EXPECT_EQ(settings->limits.body, Bytes(1000));
  ASSERT_EQ(settings->workers.size(), 2U);
  EXPECT_EQ(settings->workers[0].name, "127.0.0.1:8000");
  EXPECT_EQ(settings->workers[0].models, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(settings->workers[0].engine, "llama.cpp");
  EXPECT_EQ(settings->workers[0].max_in_flight, 4);
  EXPECT_EQ(settings->workers[1].name, "[::1]:8001");
  ASSERT_EQ(settings->models.size(), 1U);
  EXPECT_EQ(settings->models[0].aliases, std::vector<std::string>{"gpt-4"});
  EXPECT_EQ(settings->models[0].timeouts.silence, 60s);
  EXPECT_EQ(settings->models[0].timeouts.connect, 2s) << "a model takes the fleet's where it has none";
}

TEST(Load, RolesAreToldByWorker) {
  const auto settings = of_text(R"(
transfer_lease = "20s"
[[workers]]
url = "http://a:1"
role = "prefill"
[[workers]]
url = "http://b:1"
role = "decode"
engine = "vllm"
[[workers]]
url = "http://c:1"
[[workers]]
url = "http://d:1"
role = "prefill"
engine = "sglang"
bootstrap_port = 7001
)");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->transfer_lease, 20s);
  const auto read_back = of_text(to_toml(*settings));
  ASSERT_TRUE(read_back) << why(read_back);
  for (const auto& given : {*settings, *read_back}) {
    EXPECT_EQ(given.workers[0].role, "prefill");
    EXPECT_EQ(given.workers[1].role, "decode");
    EXPECT_EQ(given.workers[2].role, "both");
    EXPECT_EQ(given.workers[0].bootstrap_port, 0);
    EXPECT_EQ(given.workers[3].bootstrap_port, 7001);
  }
}

TEST(Load, RanksAreToldForAllOrForOne) {
  const auto settings = of_text(R"(
ranks = 8
[[workers]]
url = "http://a:1"
[[workers]]
url = "http://b:1"
ranks = 16
group = "b-and-c"
[[workers]]
url = "http://c:1"
ranks = 1
group = "b-and-c"
[[workers]]
url = "http://d:1"
engine = "vllm"
ranks = 4
sync = false
)");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->ranks, 8);
  EXPECT_TRUE(settings->sync);
  EXPECT_EQ(settings->workers[0].ranks, 0) << "as the top level says";
  EXPECT_EQ(settings->workers[1].ranks, 16);
  EXPECT_EQ(settings->workers[2].group, "b-and-c");
  EXPECT_FALSE(settings->workers[3].sync);
  const auto read_back = of_text(to_toml(*settings));
  ASSERT_TRUE(read_back) << why(read_back);
  EXPECT_EQ(to_toml(*read_back), to_toml(*settings));
  const auto by_flag = of_flags({"--worker-urls", "http://a:1", "--ranks", "2", "--no-sync"});
  ASSERT_TRUE(by_flag) << why(by_flag);
  EXPECT_EQ(by_flag->ranks, 2);
  EXPECT_FALSE(by_flag->sync);
}

TEST(Load, FlagsCountBeforeTheFileAndTheFileBeforeDefaults) {
  const std::string file = "threads = 3\nport = 4000\n[[workers]]\nurl = \"http://a:1\"\n[[models]]\nname = \"m\"\n";
  const auto settings =
      of_text(file, {"--port", "5000", "--silence-timeout", "0.3", "--worker-urls", "http://b:2", "http://c:3"});
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->threads, 3);
  EXPECT_EQ(settings->port, 5000);
  EXPECT_EQ(settings->admin_port, ServeSettings{}.admin_port);
  ASSERT_EQ(settings->workers.size(), 2U);
  EXPECT_EQ(settings->workers[0].url, "http://b:2");
  EXPECT_EQ(settings->models[0].timeouts.silence, 300ms) << "a model takes the flag's value too";
}

TEST(Load, SwitchesAndListsAsFlags) {
  const auto settings =
      of_flags({"--no-receipts", "--trust-client-transfer", "--cors-origins", "https://a.example", "https://b.example",
                "--client-key-headers", "", "--breaker-faults", "0", "--print-config"});
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_FALSE(settings->receipts);
  EXPECT_TRUE(settings->trust_client_transfer);
  EXPECT_EQ(settings->cors_origins.size(), 2U);
  EXPECT_TRUE(settings->client_key_headers.empty());
  EXPECT_EQ(settings->health.breaker_faults, 0);
  EXPECT_TRUE(parsed({"--print-config"}).print_config);
  EXPECT_FALSE(parsed({}).print_config);
}

/// Words that set it to something else than its default.
std::vector<std::string> words_that_change(const Setting<ServeSettings>& setting, const std::string& before) {
  const std::string flag(setting.flag);
  if (std::holds_alternative<Switch<ServeSettings>>(setting.value)) {
    return {before == "true" ? "--no-" + flag.substr(2) : flag};
  }
  if (setting.key == "policy") return {flag, "random"};
  if (setting.path() == "limits.head") return {flag, "2048"};
  if (const auto* text = std::get_if<Text<ServeSettings>>(&setting.value); text != nullptr && !text->choices.empty()) {
    return {flag, std::string(text->choices.back())};
  }
  return {flag, std::holds_alternative<Number<ServeSettings, double>>(setting.value) ? "0.75" : "7"};
}

TEST(Load, EverySettingHasAFlagThatReachesItAndNothingElse) {
  for (const auto& setting : serve_table()) {
    ASSERT_TRUE(setting.flag.starts_with("--")) << setting.path();
    ServeSettings settings;
    const std::string before = print(setting, settings);
    const FlagValues flags = parsed(words_that_change(setting, before));
    ASSERT_EQ(flags.given.size(), 1U) << setting.flag;
    const auto stored = store(setting, settings, flags.given.at(std::string(setting.flag)));
    ASSERT_TRUE(stored) << stored.error().message;
    ServeSettings defaults;
    for (const auto& other : serve_table()) {
      EXPECT_EQ(print(other, settings) != print(other, defaults), other.flag == setting.flag)
          << setting.flag << " and " << other.flag;
    }
  }
}

TEST(Load, PoliciesTakeParametersInBrackets) {
  for (const std::string policy : {"brh[horizon=40]", "balance[hold=off]", "br0[window=all,greedy=3,subset=reachable]",
                                   "ioh[ forecast = exact_match ]", "io0[window=14]"}) {
    const auto by_flag = of_flags({"--policy", policy});
    ASSERT_TRUE(by_flag) << why(by_flag);
    EXPECT_EQ(by_flag->policy, policy);
    const auto read_back = of_text(to_toml(*by_flag));
    ASSERT_TRUE(read_back) << why(read_back);
    EXPECT_EQ(read_back->policy, policy);
  }
}

TEST(Load, TheOvertakeCapMayBeLeftToThePolicy) {
  EXPECT_EQ(of_flags({})->pool.overtake_cap, -1);
  EXPECT_EQ(of_text("[pool]\novertake_cap = 5\n", {"--overtake-cap", "-1"})->pool.overtake_cap, -1);
  EXPECT_EQ(of_text("[pool]\novertake_cap = -1\n", {"--overtake-cap", "0"})->pool.overtake_cap, 0);
  const auto left = of_text(to_toml(ServeSettings{}));
  ASSERT_TRUE(left) << why(left);
  EXPECT_EQ(left->pool.overtake_cap, -1);
}

TEST(Load, ReadsAFileAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "evenkeel_load_test.toml";
  std::ofstream(path) << "port = 4321\n";
  const auto settings = of_flags({"--config", path});
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->port, 4321);
  std::ofstream(path) << "port = 4321\nprot = 1\n";
  EXPECT_EQ(why(of_flags({"--config", path})), path + ":2:1: \"prot\" is not known, did you mean \"port\"?");
  EXPECT_SAYS(of_flags({"--config", path + ".none"}), "cannot open");
}

TEST(Print, ReadsBackEqual) {
  ASSERT_EQ(setenv("EVENKEEL_TEST_KEY", "sk-test", 1), 0);
  const auto settings = of_text(R"(
policy = "consistent_hash"
host = "::1"
access_log = "/tmp/a \"b\\c\".log"
affinity_headers = ["x-conversation-id"]
cors_origins = ["https://a.example:8443", "null"]
drain_timeout = "1500us"
seed = 9223372036854775807
[timeouts]
total = "333ns"
first_byte = "1ns"
silence = "5ns"
[retry]
budget = 0.1234567890123
[limits]
body = 65537
kept_body = "1KiB"
[[workers]]
url = "http://h:1"
name = "one"
models = ["p\u00e4per", "m"]
api_key_env = "EVENKEEL_TEST_KEY"
[[workers]]
url = "http://h:2/base"
engine = "tgi"
max_in_flight = 3
[[models]]
name = "m"
aliases = ["x", "y z"]
timeouts = { connect = 0, total = "2h" }
)");
  ASSERT_TRUE(settings) << why(settings);
  const std::string printed = to_toml(*settings);
  const auto read_back = of_text(printed);
  ASSERT_TRUE(read_back) << why(read_back) << "\n" << printed;
  EXPECT_EQ(to_toml(*read_back), printed);
  EXPECT_EQ(read_back->seed, 9223372036854775807U);
  EXPECT_EQ(read_back->timeouts.total, 333ns);
  EXPECT_EQ(read_back->retry.budget, 0.1234567890123);
  EXPECT_EQ(read_back->access_log, "/tmp/a \"b\\c\".log");
  EXPECT_EQ(read_back->workers[0].api_key_env, "EVENKEEL_TEST_KEY");
  EXPECT_EQ(read_back->workers[0].models, (std::vector<std::string>{"päper", "m"}));
  EXPECT_EQ(read_back->workers[1].max_in_flight, 3);
  EXPECT_EQ(read_back->workers[1].name, "h:2");
  EXPECT_EQ(read_back->models[0].timeouts.total, 2h);
  EXPECT_EQ(read_back->models[0].timeouts.connect, 0s);
  EXPECT_EQ(read_back->models[0].timeouts.silence, 5ns);
}

TEST(Limits, AreToldWithTheirWords) {
  auto settings =
      of_flags({"--first-byte-timeout", "0", "--retry-attempts", "1", "--breaker-faults", "0", "--max-in-flight", "9"});
  ASSERT_TRUE(settings) << why(settings);
  std::string text = describe_limits(*settings);
  for (const auto* part :
       {"connect 5s, first byte off, silence 300s, total off", "retries       off", "breaker       off",
        "in flight     9 a worker", "2048 requests, 256MiB, 60s each", "body 64MiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  for (const auto& [cap, words] : {std::pair{"-1", "overtaken as the policy bounds it, else by 64\n"},
                                   {"0", "overtaken by any number\n"},
                                   {"7", "overtaken by 7\n"}}) {
    settings = of_flags({"--overtake-cap", cap});
    ASSERT_TRUE(settings) << why(settings);
    EXPECT_NE(describe_limits(*settings).find(words), std::string::npos) << cap;
  }
  settings = of_text("[[models]]\nname = \"m\"\ntimeouts = { total = \"9s\" }\n");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_NE(describe_limits(*settings).find("of m  connect 5s, first byte 600s, silence 300s, total 9s"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::config
