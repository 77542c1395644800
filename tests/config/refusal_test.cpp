#include <fstream>

#include "config/support.hpp"

namespace evenkeel::config {
namespace {

const std::string worker = "[[workers]]\nurl = \"http://a:1\"\n";

TEST(Unknown, KeysAreNamedWithPlaceAndNearest) {
  EXPECT_EQ(why(of_text("host = \"h\"\n  polcy = \"random\"\n")),
            "router.toml:2:3: \"polcy\" is not known, did you mean \"policy\"?");
  EXPECT_EQ(why(of_text("[retry]\natempts = 2\n")),
            "router.toml:2:1: \"atempts\" is not known in retry, did you mean \"attempts\"?");
  EXPECT_SAYS(of_text("[timeout]\nconnect = 1\n"), "did you mean \"timeouts\"?");
  EXPECT_SAYS(of_text("connect = 1\n"), "did you mean \"timeouts.connect\"?");
  EXPECT_SAYS(of_text("[[workers]]\nurl = \"http://a:1\"\nmodel = [\"m\"]\n"), "did you mean \"models\"?");
  EXPECT_SAYS(of_text("[[models]]\nname = \"m\"\nalias = [\"x\"]\n"), "did you mean \"aliases\"?");
  EXPECT_SAYS(of_text("[[models]]\nname = \"m\"\ntimeouts = { slience = 1 }\n"),
              "router.toml:3:14: \"slience\" is not known in timeouts");
  EXPECT_SAYS(of_text("[pool]\nzzzzzzzz = 1\n"), "allowed: requests, bytes");
}

TEST(WrongType, SaysWhatWasFoundAndWhatIsAllowed) {
  EXPECT_EQ(why(of_text("[timeouts]\nconnect = true\n")),
            "router.toml:2:11: timeouts.connect cannot be true (allowed: a duration like \"30s\", \"250ms\" "
            "or seconds as a "
            "number, 0s to 24h)");
  EXPECT_SAYS(of_text("port = \"80\"\n"), "port cannot be \"80\"");
  EXPECT_SAYS(of_text("port = 80.0\n"), "port cannot be");
  EXPECT_SAYS(of_text("receipts = \"true\"\n"), "true or false");
  EXPECT_SAYS(of_text("cors_origins = \"*\"\n"), "a list of");
  EXPECT_SAYS(of_text("cors_origins = [1]\n"), "cors_origins cannot be a list that holds more than texts");
  EXPECT_SAYS(of_text("host = 1979-05-27\n"), "a date or time");
  EXPECT_SAYS(of_text("policy = []\n"), "policy cannot be []");
  EXPECT_SAYS(of_text("timeouts = 3\n"), "[timeouts]");
  EXPECT_SAYS(of_text("workers = 3\n"), "[[workers]]");
  EXPECT_SAYS(of_text("workers = [\"http://a:1\"]\n"), "[[workers]]");
  EXPECT_SAYS(of_text("[policy]\nx = 1\n"), "policy cannot be a table");
  EXPECT_SAYS(of_text("host = \"a\\u0007b\"\n"), "host cannot be");
}

TEST(OutOfRange, IsRefusedAtBothEnds) {
  for (const auto* text : {"port = 65536",
                           "port = -1",
                           "threads = 1025",
                           "threads = -1",
                           "[health]\nejection_cap = 1.01",
                           "[health]\nejection_cap = -0.1",
                           "[retry]\nbudget = 1.5",
                           "[retry]\nbudget = nan",
                           "[retry]\nattempts = 0",
                           "[health]\ninterval = \"1ms\"",
                           "[health]\nrise = 0",
                           "[limits]\nhead = 100",
                           "[limits]\nbody = 0",
                           "[timeouts]\ntotal = \"25h\"",
                           "[timeouts]\ntotal = -1",
                           "seed = -1",
                           "max_in_flight = 1000001",
                           "max_in_flight = -1",
                           "[pool]\novertake_cap = -2",
                           "[pool]\novertake_cap = 1000000001"}) {
    EXPECT_SAYS(of_text(text), "allowed:") << text;
  }
  for (const auto* text : {"port = 65535", "port = 0", "threads = 1024", "[health]\nejection_cap = 1",
                           "[health]\nejection_cap = 0.0", "[pool]\novertake_cap = -1", "[pool]\novertake_cap = 0",
                           "[retry]\nattempts = 1", "[timeouts]\ntotal = \"24h\""}) {
    EXPECT_EQ(why(of_text(text)), "") << text;
  }
}

TEST(Flags, AreHeldToTheSameRules) {
  EXPECT_SAYS(of_flags({"--port", "99999"}), "--port: port cannot be \"99999\" (allowed: a whole number, 0 to 65535)");
  EXPECT_SAYS(of_flags({"--port", "-1"}), "--port: port cannot be \"-1\"");
  EXPECT_SAYS(of_flags({"--seed", "-1"}), "--seed: seed cannot be \"-1\"");
  EXPECT_SAYS(of_flags({"--overtake-cap", "-2"}), "--overtake-cap: pool.overtake_cap cannot be \"-2\"");
  EXPECT_SAYS(of_flags({"--overtake-cap", "--1"}), "cannot be \"--1\"");
  EXPECT_SAYS(of_flags({"--policy", "least_wiat"}), "did you mean \"least_wait\"?");
  EXPECT_SAYS(of_flags({"--silence-timeout", "soon"}), "--silence-timeout");
  EXPECT_SAYS(of_flags({"--retry-budget", "10%"}), "--retry-budget");
  EXPECT_THROW((void)parsed({"--prot", "1"}), CLI::ParseError);
  for (const char* flag : {"--no-sync=maybe", "--sync=5", "--receipts=x", "--no-receipts=-3"}) {
    EXPECT_THROW((void)parsed({flag}), CLI::ParseError) << flag;
  }
  EXPECT_THROW((void)parsed({"--port", "1", "--port", "2"}), CLI::ParseError);
}

TEST(Policy, NamesAndParametersAreHeldToWhatThePolicyTakes) {
  EXPECT_SAYS(
      of_text("port = 1\npolicy = \"least_wiat\"\n"),
      "router.toml:2:10: policy \"least_wiat\" is not known, did you mean \"least_wait\"? (allowed: auto, random, ");
  EXPECT_SAYS(of_text("policy = \"brh[horizn=40]\"\n"),
              "router.toml:1:10: policy \"brh\" has no parameter horizn, did you mean horizon?");
  EXPECT_EQ(why(of_flags({"--policy", "brh[horizon=4000]"})),
            "--policy: policy \"brh\": horizon is \"4000\" (allowed: whole numbers 0 to 1024)");
  EXPECT_EQ(why(of_flags({"--policy", "balance[hold=maybe]"})),
            "--policy: policy \"balance\": hold is \"maybe\" (allowed: on, off)");
  EXPECT_SAYS(of_flags({"--policy", "least_wait[x=1]"}), "policy \"least_wait\" has no parameter x (allowed: hits)");
  EXPECT_SAYS(of_flags({"--policy", "brh[horizon=40"}), "--policy: policy \"brh[horizon=40\": text after the brackets");
  EXPECT_SAYS(of_flags({"--policy", "brh[horizon]"}), "\"horizon\" is not key=value");
  EXPECT_SAYS(of_flags({"--policy", "br0,brh"}), "policy \"br0,brh\" is not known");
  EXPECT_SAYS(of_flags({"--policy", ""}), "policy \"\" is not known");
  EXPECT_SAYS(of_text("policy = \"br0\\u0007\"\n"), "policy cannot be");
}

TEST(Policy, NobodyForeknowsOutputsInService) {
  EXPECT_EQ(why(of_flags({"--policy", "brh[forecast=oracle]"})),
            "--policy: forecast \"oracle\" is told the true outputs, which nobody knows in service; it is for "
            "`evenkeel simulate` alone");
  EXPECT_SAYS(of_text("policy = \"ioh[window=3, forecast = oracle]\"\n"), "router.toml:1:10: forecast \"oracle\"");
  EXPECT_SAYS(of_flags({"--policy", "br0[forecast=oracle]"}), "policy \"br0\" has no parameter forecast");
  EXPECT_SAYS(of_flags({"--policy", "brh[forecast=oracel]"}), "forecast \"oracel\" does not exist");
  EXPECT_SAYS(of_flags({"--policy", "brh[forecast=learned:/no/such.model]"}), "/no/such.model");
}

TEST(Policy, AffinityHeadersGoByItsName) {
  EXPECT_EQ(why(of_flags({"--policy", "consistent_hash[]", "--affinity-headers", "x-chat"})), "");
  EXPECT_SAYS(of_flags({"--policy", "br0[window=8]", "--affinity-headers", "x-chat"}),
              "affinity_headers has no effect with policy \"br0[window=8]\"");
}

TEST(Syntax, ErrorsSayWhere) {
  EXPECT_SAYS(of_text("port = 1\nhost = \n"), "router.toml:2:");
  EXPECT_SAYS(of_text("port = 1\nport = 2\n"), "router.toml:2:");
  EXPECT_SAYS(of_text("\xff\xfe"), "router.toml:1:");
}

TEST(Workers, MustBeTellableApart) {
  EXPECT_SAYS(of_text("[[workers]]\nname = \"x\"\n"), "router.toml:1:1: a worker needs a url");
  EXPECT_SAYS(of_text(worker + worker), "two workers have the url \"http://a:1\"");
  EXPECT_SAYS(of_text(worker + "[[workers]]\nurl = \"http://a:1/\"\n"), "two workers have the url");
  EXPECT_SAYS(of_text(worker + "[[workers]]\nurl = \"http://b:1\"\nname = \"a:1\"\n"),
              "two workers have the name \"a:1\"");
  EXPECT_SAYS(of_text(worker + "[[workers]]\nurl = \"http://a:1/other\"\n"), "give one of them another name");
  EXPECT_SAYS(of_text("[[workers]]\nurl = \"http://a:1\"\nname = \"a b\"\n"), "this is no name");
  EXPECT_SAYS(of_flags({"--worker-urls", "http://a:1", "http://a:1"}), "two workers have the url");
}

TEST(Workers, MustBeReachable) {
  EXPECT_SAYS(of_flags({"--worker-urls", "https://a:1"}), "TLS to workers is not supported");
  EXPECT_SAYS(of_flags({"--worker-urls", "a:1"}), "does not begin with http://");
  EXPECT_SAYS(of_text("[[workers]]\nurl = \"http://a:1\"\nengine = \"vlmm\"\n"), "did you mean \"vllm\"?");
  EXPECT_SAYS(check(WorkerSetting{.url = "http://a:1", .engine = "x"}), "engine cannot be \"x\"");
  EXPECT_SAYS(check(WorkerSetting{.url = "http://a:1", .max_in_flight = -1}), "max_in_flight cannot be -1");
  const auto good = check(WorkerSetting{.url = "http://a:1"});
  ASSERT_TRUE(good) << why(good);
  EXPECT_EQ(good->name, "a:1");
}

TEST(Ranks, ThatCannotBeAreRefused) {
  EXPECT_SAYS(of_text(worker + "ranks = -1\n"), "workers.ranks cannot be -1 (allowed: a whole number, 0 to 1024)");
  EXPECT_SAYS(of_text(worker + "ranks = 1025\n"), "0 to 1024");
  EXPECT_SAYS(of_flags({"--ranks", "x"}), "--ranks: ranks cannot be \"x\"");
  EXPECT_SAYS(check(WorkerSetting{.url = "http://a:1", .ranks = 2000}), "ranks cannot be 2000");
  EXPECT_SAYS(of_text(worker + "engine = \"tgi\"\nranks = 2\n"),
              "worker \"a:1\": ranks cannot be 2: engine tgi has no ranks that requests can be sent to");
  EXPECT_EQ(why(of_text(worker + "engine = \"tgi\"\nranks = 1\n")), "");
  EXPECT_SAYS(of_text(worker + "group = \"a b\"\n"), "group \"a b\" is no name");
  EXPECT_SAYS(of_text(worker + "group = \"g\"\nsync = false\n"), "group has no effect with sync = false");
  EXPECT_SAYS(of_text(worker + "role = \"first\"\n"), "role cannot be \"first\" (allowed: both, prefill, decode)");
  EXPECT_SAYS(
      of_text(worker + "role = \"prefill\"\nengine = \"tgi\"\n"),
      "role = prefill is possible with vLLM's NIXL connector and with SGLang only (allowed: engine = vllm, sglang "
      "or auto), and this is tgi");
  for (const char* other : {"", "role = \"decode\"\n", "role = \"prefill\"\nengine = \"vllm\"\n"}) {
    EXPECT_SAYS(of_text(worker + other + "bootstrap_port = 8998\n"), "bootstrap_port has no effect with role = ");
  }
  EXPECT_SAYS(of_text(worker + "role = \"prefill\"\nbootstrap_port = 65536\n"), "bootstrap_port cannot be 65536");
  EXPECT_SAYS(of_text(worker + "role = \"decode\"\nengine = \"llama.cpp\"\n"), "and this is llama.cpp");
  EXPECT_SAYS(of_text(worker + "role = \"prefill\"\ngroup = \"g\"\n"), "group has no effect with role = prefill");
  EXPECT_SAYS(of_text("transfer_lease = \"10ms\"\n"), "transfer_lease cannot be \"10ms\"");
  EXPECT_SAYS(of_text(worker + "ranks = 1\nsync = false\n"), "sync = false has no effect with ranks = 1");
  EXPECT_SAYS(of_flags({"--ranks", "1", "--no-sync"}), "sync = false has no effect with ranks = 1");
  EXPECT_SAYS(of_text(worker + "rank = 2\n"), "did you mean \"ranks\"?");
}

TEST(Ranks, AreNotToldInTheUrl) {
  EXPECT_SAYS(of_flags({"--worker-urls", "http://a:8000@8"}),
              "the url \"http://a:8000@8\" ends in @8; ranks are not told there (allowed: ranks = N of the worker, or "
              "--ranks N)");
  EXPECT_SAYS(of_flags({"--worker-urls", "http://user:key@a:8000"}), "credentials in the URL are not taken");
}

TEST(Keys, AreReadAtStart) {
  const std::string path = testing::TempDir() + "evenkeel_key_test";
  std::ofstream(path) << "sk-1234\n";
  EXPECT_EQ(api_key(WorkerSetting{.url = "", .api_key_file = path}).value(), "sk-1234");
  EXPECT_EQ(why(of_text(worker + "api_key_file = \"" + path + "\"\n")), "");
  EXPECT_SAYS(of_text(worker + "api_key_file = \"" + path + ".none\"\n"), "cannot be read");
  EXPECT_SAYS(of_text(worker + "api_key_env = \"EVENKEEL_NO_SUCH_KEY\"\n"),
              "the environment has no EVENKEEL_NO_SUCH_KEY");
  EXPECT_SAYS(of_text(worker + "api_key_env = \"PATH\"\napi_key_file = \"" + path + "\"\n"), "both given");
  std::ofstream(path) << "two\nlines\n";
  EXPECT_SAYS(of_text(worker + "api_key_file = \"" + path + "\"\n"), "holds no key");
  std::ofstream(path) << "  \n";
  EXPECT_SAYS(of_text(worker + "api_key_file = \"" + path + "\"\n"), "holds no key");
  std::ofstream(path) << std::string(9000, 'k');
  EXPECT_SAYS(of_text(worker + "api_key_file = \"" + path + "\"\n"), "holds no key");
  EXPECT_SAYS(of_text(worker + "api_key_file = \"" + testing::TempDir() + "\"\n"), "cannot be read");
}

TEST(Models, AliasesMustNotHideOrRepeat) {
  const std::string model = "[[models]]\nname = \"m\"\n";
  EXPECT_SAYS(of_text(model + "aliases = [\"m\"]\n"), "is the name of a model");
  EXPECT_SAYS(of_text(model + "aliases = [\"x\", \"x\"]\n"), "alias \"x\" is given twice");
  EXPECT_SAYS(of_text(model + "aliases = [\"x\"]\n[[models]]\nname = \"n\"\naliases = [\"x\"]\n"), "given twice");
  EXPECT_SAYS(of_text(worker + "models = [\"n\", \"m\"]\n" + model + "aliases = [\"n\"]\n"), "is the name of a model");
  EXPECT_SAYS(of_text(model + model), "two models have the name \"m\"");
  EXPECT_SAYS(of_text("[[models]]\naliases = [\"x\"]\n"), "a model needs a name");
  EXPECT_SAYS(of_text(model + "aliases = [\"\"]\n"), "empty alias");
}

TEST(Models, MustBeServableOnceAllWorkersAreKnown) {
  const std::string model = "[[models]]\nname = \"m\"\n";
  EXPECT_SAYS(of_text(worker + "models = [\"n\"]\n" + model), "served by no worker");
  EXPECT_EQ(why(of_text(worker + "models = [\"n\"]\n[[workers]]\nurl = \"http://b:1\"\n" + model)), "");
  EXPECT_EQ(why(of_text(worker + model)), "");
  EXPECT_EQ(why(of_text(worker + "models = [\"m\"]\n" + model)), "");
}

TEST(Combinations, ThatHaveNoEffectAreRefused) {
  EXPECT_SAYS(of_flags({"--affinity-headers", "x-user"}), "affinity_headers has no effect with policy \"auto\"");
  EXPECT_SAYS(of_flags({"--forecast-file", "f"}), "forecast_file has no effect with policy \"auto\"");
  EXPECT_SAYS(of_flags({"--forecast-file", "f", "--policy", "ioh[horizon=0]"}), "forecast_file has no effect");
  EXPECT_SAYS(of_flags({"--forecast-file", "-", "--policy", "brh"}), "forecast_file is \"-\" (allowed: a file, or");
  EXPECT_EQ(why(of_flags({"--affinity-headers", "x-user", "--policy", "consistent_hash"})), "");
  EXPECT_SAYS(of_flags({"--port", "80", "--admin-port", "80"}), "port and admin_port are both 80");
  EXPECT_EQ(why(of_flags({"--port", "0", "--admin-port", "0"})), "");
  EXPECT_EQ(why(of_flags({"--port", "80", "--admin-port", "80", "--host", "127.0.0.2"})), "");
  EXPECT_SAYS(of_flags({"--max-body-bytes", "1MiB", "--kept-body-bytes", "2MiB"}),
              "limits.kept_body is over limits.body");
  EXPECT_EQ(why(of_flags({"--max-body-bytes", "65536"})), "") << "the default of kept_body is nobody's mistake";
  EXPECT_SAYS(of_flags({"--total-timeout", "10s", "--silence-timeout", "20s"}),
              "timeouts.silence is over timeouts.total");
  EXPECT_SAYS(of_flags({"--total-timeout", "10s", "--first-byte-timeout", "20s"}), "timeouts.first_byte is over");
  EXPECT_EQ(why(of_flags({"--total-timeout", "10s"})), "");
  EXPECT_SAYS(of_flags({"--pool-timeout", "1s", "--pool-unroutable-wait", "2s"}), "pool.unroutable_wait is over");
  EXPECT_SAYS(of_flags({"--retry-attempts", "1", "--retry-budget", "0.5"}), "retry.budget has no effect");
  EXPECT_SAYS(of_flags({"--retry-backoff", "2s"}), "retry.backoff is over retry.backoff_cap");
  EXPECT_SAYS(of_flags({"--prefix-cache-tokens", "9", "--prefix-bytes", "0"}), "no effect with prefix.bytes = 0");
  EXPECT_SAYS(of_flags({"--prefix-lifetime", "9m", "--policy", "random"}), "no effect with policy \"random\"");
  EXPECT_SAYS(of_flags({"--prefix-blocks", "9", "--policy", "least_wait[hits=off]"}), "no effect with policy");
  EXPECT_EQ(why(of_flags({"--prefix-bytes", "0", "--policy", "random"})), "") << "off is off";
  EXPECT_EQ(why(of_text("policy = \"random\"\n[prefix]\nblocks = 9\n[[workers]]\nurl = \"http://a:1\"\n"
                        "role = \"prefill\"\n")),
            "");
  EXPECT_SAYS(of_flags({"--breaker-open", "1m"}), "health.breaker_open is over");
}

TEST(Names, OfHostsHeadersAndOriginsAreChecked) {
  EXPECT_SAYS(of_flags({"--host", "a b"}), "host \"a b\" is no host");
  EXPECT_SAYS(of_text("admin_host = \"\"\n"), "admin_host \"\" is no host");
  EXPECT_SAYS(of_flags({"--client-key-headers", "x key"}), "no header name");
  EXPECT_SAYS(of_flags({"--cors-origins", "app.example"}), "cors_origins has \"app.example\"");
  EXPECT_SAYS(of_flags({"--cors-origins", "https://app.example/"}), "without a path");
  EXPECT_SAYS(of_text("access_log = \"\"\n"), "access_log is empty");
}

TEST(KvEvents, EndpointsAreCheckedAndOneWithoutTheOtherIsSaid) {
  EXPECT_TRUE(of_text(worker + "kv_events = \"tcp://a:5557\"\nkv_events_replay = \"tcp://a:5558\"\n"));
  EXPECT_TRUE(of_text(worker + "kv_events = \"tcp://*:5557\"\n"));
  EXPECT_TRUE(of_text(worker + "kv_events = \"tcp://[::1]:5557\"\n"));
  EXPECT_TRUE(of_text(worker + "kv_events = \"ipc:///run/kv\"\n"));
  for (const char* wrong : {"a:5557", "tcp://a", "tcp://:5557", "tcp://a:0", "tcp://a:70000", "tcp://a:x", "http://a:1",
                            "ipc://", "tcp://a b:5", "tcp://a:1:2", "tcp://*a:5", "tcp://a/b:5"}) {
    EXPECT_SAYS(of_text(worker + "kv_events = \"" + wrong + "\"\n"),
                "allowed: tcp://host:port with * for a host that connects, or ipc://path");
  }
  EXPECT_SAYS(of_text(worker + "kv_events_replay = \"tcp://a:5558\"\n"), "no effect without kv_events");
  EXPECT_SAYS(of_text(worker + "kv_events = \"tcp://a:5557\"\nkv_events_replay = \"tcp://*:5558\"\n"),
              "kv_events_replay is \"tcp://*:5558\" (allowed: tcp://host:port, or ipc://path)");
  EXPECT_SAYS(of_text(worker + "kv_events = \"tcp://a:5557\"\nkv_events_replay = \"tcp://a:5557\"\n"),
              "the same endpoint");
  EXPECT_SAYS(of_text(worker + "kv_events = \"tcp://a:5557\"\nengine = \"tgi\"\n"),
              "possible with vLLM and SGLang only, and this is tgi");
  EXPECT_SAYS(of_text(worker + "kv_events = \"tcp://a:5557\"\nprefix_cache_tokens = 0\n"),
              "with prefix_cache_tokens = 0");
  EXPECT_SAYS(of_text("kv_event_blocks = 4096\n" + worker), "kv_event_blocks has no effect: no worker has kv_events");
}

}  // namespace
TEST(Redline, SettingsThatCannotWorkTogetherOrDoNothingAreRefused) {
  EXPECT_TRUE(of_flags({"--redline", "on", "--redline-reserve", "0.5", "--redline-band", "0.3"}));
  EXPECT_SAYS(of_flags({"--redline", "on", "--redline-reserve", "0.6", "--redline-band", "0.4"}),
              "the fleet would never be released");
  EXPECT_SAYS(of_flags({"--redline", "on", "--redline-lease", "1s"}), "under two health intervals");
  EXPECT_SAYS(of_flags({"--redline-level", "0.99"}), "no effect with redline.mode = off");
  EXPECT_SAYS(of_text("[redline]\nheavy_tokens = 7\n" + worker), "no effect with redline.mode = off");
}

TEST(Pressure, SettingsWithoutEffectAndRootsWithoutAHostAreRefused) {
  EXPECT_SAYS(of_text("[pressure]\nhold = 5\n"), "have no effect with pressure.mode = off (allowed with: show, shed)");
  EXPECT_SAYS(of_text("[pressure]\nmode = \"shed\"\nevidence = \"swap\"\nswap_ins = 5\n"),
              "have no effect with pressure.evidence = swap");
  EXPECT_SAYS(of_text("[pressure]\nmode = \"show\"\nroot = \"/nowhere\"\n"),
              "pressure.root \"/nowhere\" has no folder");
  EXPECT_SAYS(of_text("[pressure]\nmode = \"on\"\n"), "(allowed: off, show, shed)");
  EXPECT_SAYS(of_text("[[models]]\nname = \"m\"\nnever_shed = true\n" + worker),
              "model \"m\": never_shed has no effect with pressure.mode = off (allowed with: shed)");
  EXPECT_SAYS(of_text("[pressure]\nmode = \"show\"\nswap_percent = 101\n"), "pressure.swap_percent cannot be 101");
  const std::string recorded = EVENKEEL_SOURCE_DIR "/tests/data/pressure/healthy";
  const auto shows = of_text("[pressure]\nmode = \"show\"\nroot = \"" + recorded + "\"\n");
  EXPECT_TRUE(shows) << why(shows);
}

}  // namespace evenkeel::config
