#include <cstdlib>
#include <fstream>

#include "config/support.hpp"

namespace evenkeel::config {
namespace {

using namespace std::chrono_literals;

const std::string peer = "[[peers]]\nurl = \"http://b:30000\"\n";

TEST(Peers, AreReadWithWhatIsSharedWithThem) {
  setenv("EVENKEEL_TEST_TO_PEER", "k1", 1);
  setenv("EVENKEEL_TEST_FROM_PEER", "k2", 1);
  const auto settings = of_text(R"(
self_name = "thor"
[peer_options]
quantization = "nvfp4"
capacity_clamp = 64
probe_interval = "2s"
[pressure]
mode = "shed"
[[workers]]
url = "http://a:1"
[[peers]]
url = "http://b:30000/"
name = "spark"
kind = "lobes"
models = ["m"]
api_key_env = "EVENKEEL_TEST_TO_PEER"
accept_key_env = "EVENKEEL_TEST_FROM_PEER"
[[peers]]
url = "http://c:30000"
[[models]]
name = "m"
aliases = ["hand"]
never_shed = true
quantization = "fp8"
tool_parser = "hermes"
)");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->self_name, "thor");
  EXPECT_EQ(settings->peer_options.capacity_clamp, 64);
  EXPECT_EQ(settings->peer_options.probe_interval, 2s);
  ASSERT_EQ(settings->peers.size(), 2U);
  EXPECT_EQ(settings->peers[0].name, "spark");
  EXPECT_EQ(settings->peers[0].kind, "lobes");
  EXPECT_EQ(api_key(settings->peers[0]), "k1");
  EXPECT_EQ(accept_key(settings->peers[0]), "k2");
  EXPECT_EQ(settings->peers[1].name, "c:30000");
  EXPECT_EQ(settings->peers[1].kind, "auto");
  EXPECT_TRUE(settings->models[0].never_shed);
  EXPECT_EQ(settings->models[0].quantization, "fp8");
  const auto again = of_text(to_toml(*settings));
  ASSERT_TRUE(again) << why(again);
  EXPECT_EQ(to_toml(*again), to_toml(*settings));
}

TEST(Peers, OfTheCommandLineReplaceThoseOfTheFile) {
  const auto settings =
      of_text(peer, {"--peer-urls", "http://x:1", "http://y:2", "--quantization", "none", "--peer-fresh", "100ms"});
  ASSERT_TRUE(settings) << why(settings);
  ASSERT_EQ(settings->peers.size(), 2U);
  EXPECT_EQ(settings->peers[1].name, "y:2");
  EXPECT_EQ(settings->peer_options.quantization, "none");
  EXPECT_EQ(settings->peer_options.fresh, 100ms);
}

TEST(Peers, WhatIsForThemAloneIsRefusedWithoutThem) {
  EXPECT_EQ(why(of_flags({"--self-name", "thor"})),
            "self_name has no effect without peers (allowed with: [[peers]] or --peer-urls)");
  for (const char* flag : {"--quantization", "--peer-capacity-clamp", "--peer-uncalibrated-slots",
                           "--peer-probe-interval", "--peer-probe-timeout", "--peer-lost-probes", "--peer-slack"}) {
    EXPECT_SAYS(of_flags({flag, "7"}), "settings of peer_options have no effect without peers") << flag;
    EXPECT_EQ(why(of_flags({flag, "7", "--peer-urls", "http://b:1"})), "") << flag;
  }
  EXPECT_SAYS(of_flags({"--no-peer-capacities"}), "settings of peer_options have no effect without peers");
  for (const char* key :
       {"runtime", "quantization", "kv_cache_dtype", "reasoning_parser", "tool_parser", "speculative_config"}) {
    const std::string model = std::string("[[models]]\nname = \"m\"\n") + key + " = \"x\"\n";
    EXPECT_EQ(why(of_text(model)), std::string("model \"m\": ") + key +
                                       " has no effect without peers (allowed with: [[peers]] or --peer-urls)");
    EXPECT_EQ(why(of_text(peer + model)), "") << key;
  }
}

TEST(Peers, ThatCannotBeAreRefused) {
  EXPECT_SAYS(of_text("[[peers]]\nname = \"b\"\n"), "router.toml:1:1: a peer needs a url");
  EXPECT_SAYS(of_text("[[peers]]\nurl = \"b:1\"\n"), "b:1");
  EXPECT_SAYS(of_text("[[peers]]\nurl = \"https://b\"\n"), "https");
  EXPECT_SAYS(of_text(peer + "kind = \"lobe\"\n"), "did you mean \"lobes\"?");
  EXPECT_SAYS(of_text(peer + "modles = [\"m\"]\n"), "\"modles\" is not known in peers, did you mean \"models\"?");
  EXPECT_SAYS(of_text(peer + "name = \"a b\"\n"), "peer \"a b\": this is no name");
  EXPECT_SAYS(of_text(peer + "models = [\"\"]\n"), "peer \"b:30000\": a model name is empty");
  EXPECT_SAYS(of_text(peer + "models = [\"m\", \"m\"]\n"), "the model \"m\" is named twice");
  EXPECT_SAYS(of_text(peer + peer), "another peer or a worker has the url");
  EXPECT_SAYS(of_text("[[workers]]\nurl = \"http://b:30000\"\n" + peer), "another peer or a worker has the url");
  EXPECT_SAYS(of_text("[[workers]]\nurl = \"http://a:1\"\nname = \"x\"\n" + peer + "name = \"x\"\n"),
              "two peers, or a peer and a worker, have the name \"x\"");
  EXPECT_SAYS(of_text("self_name = \"a b\"\n" + peer), "self_name \"a b\" is no name");
  std::string many;
  for (int i = 0; i < 257; ++i) many += "[[peers]]\nurl = \"http://b:" + std::to_string(1000 + i) + "\"\n";
  EXPECT_SAYS(of_text(many), "there are 257 peers (allowed: 256)");
}

TEST(Peers, KeysAreReadAtTheStartAndNeverShown) {
  unsetenv("EVENKEEL_TEST_NO_KEY");
  EXPECT_EQ(why(of_text(peer + "accept_key_env = \"EVENKEEL_TEST_NO_KEY\"\n")),
            "peer \"b:30000\": accept_key_env: the environment has no EVENKEEL_TEST_NO_KEY");
  EXPECT_SAYS(of_text(peer + "api_key_file = \"/no/such\"\n"), "api_key_file \"/no/such\" cannot be read or is empty");
  EXPECT_SAYS(of_text(peer + "accept_key_env = \"A\"\naccept_key_file = \"b\"\n"),
              "accept_key_file and accept_key_env are both given");
  setenv("EVENKEEL_TEST_TO_PEER", "sesame", 1);
  const auto settings = of_text(peer + "api_key_env = \"EVENKEEL_TEST_TO_PEER\"\n");
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(to_toml(*settings).find("sesame"), std::string::npos);
}

TEST(Peers, OptionsThatContradictEachOtherAreRefused) {
  EXPECT_SAYS(of_text(peer, {"--no-peer-capacities", "--peer-capacity-clamp", "64"}),
              "peer_options.capacity_clamp has no effect with peer_options.capacities = false");
  EXPECT_SAYS(of_text(peer, {"--peer-uncalibrated-slots", "65", "--peer-capacity-clamp", "64"}),
              "peer_options.uncalibrated_slots is over peer_options.capacity_clamp");
  EXPECT_SAYS(of_text(peer + "[peer_options]\nahead_over = 1.5\n"), "a number, 0 to 1");
  EXPECT_SAYS(of_text(peer + "[peer_options]\ncapacity_clamp = 0\n"), "allowed: a whole number, 1 to 1000000");
}

TEST(Peers, WhatIsNeverShedWantsSomethingThatSheds) {
  EXPECT_EQ(why(of_text("[[models]]\nname = \"m\"\nnever_shed = true\n")),
            "model \"m\": never_shed has no effect with pressure.mode = off (allowed with: shed)");
  EXPECT_EQ(why(of_text("[pressure]\nmode = \"shed\"\n[[models]]\nname = \"m\"\nnever_shed = true\n")), "");
}

TEST(Peers, AModelMayBeServedByThemAlone) {
  const std::string workers = "[[workers]]\nurl = \"http://a:1\"\nmodels = [\"n\"]\n";
  const std::string models = "[[models]]\nname = \"m\"\naliases = [\"big\"]\n";
  EXPECT_SAYS(of_text(workers + models), "model \"m\" is served by no worker");
  EXPECT_EQ(why(of_text(workers + peer + models)), "");
}

}  // namespace
}  // namespace evenkeel::config
