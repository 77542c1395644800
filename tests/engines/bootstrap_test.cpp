// Where both legs of a request meet in SGLang: rooms, bodies read back by another parser, and what an engine tells.
#include "engines/bootstrap.hpp"

#include <simdjson.h>

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace evenkeel::engines {
namespace {

constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();

TEST(BootstrapRoom, IsOfTheRankAndInRangeWhateverIsDrawn) {
  Random random(1);
  std::vector<std::uint64_t> draws = {0, 1, 2, 3, ~0ULL, ~0ULL - 1, ~0ULL - 7, 1ULL << 63U};
  for (int i = 0; i < 1000; ++i) draws.push_back(random.next());
  for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 8U, 1000U}) {
    for (const std::uint32_t rank : {0U, ranks / 2, ranks - 1}) {
      for (const std::uint64_t draw : draws) {
        const std::int64_t room = bootstrap_room(draw, rank, ranks);
        ASSERT_GE(room, 0);
        ASSERT_EQ(room % ranks, rank) << draw;
      }
    }
  }
}

TEST(BootstrapRoom, UsesAllThatThereAre) {
  EXPECT_EQ(bootstrap_room(~0ULL), last);
  EXPECT_EQ(bootstrap_room(0), 0);
  EXPECT_EQ(bootstrap_room(2), 1);
  Random random(2);
  std::set<std::int64_t> rooms;
  for (int i = 0; i < 10'000; ++i) rooms.insert(bootstrap_room(random.next(), 3, 8));
  EXPECT_EQ(rooms.size(), 10'000U);
}

TEST(BootstrapBody, KeepsTheClientsBytesAndAddsTheMeeting) {
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {R"({"a":1.50})", R"({"a":1.50,)"}, {"{}", "{"}, {"{ \n}", "{ \n"}, {"{\"a\":{}} \n", "{\"a\":{},"}};
  for (const auto& [body, begin] : bodies) {
    const std::int64_t room = last;
    const auto made = bootstrap_body(body, {"10.0.0.1", 8998}, {&room, 1});
    ASSERT_TRUE(made.has_value()) << body;
    EXPECT_EQ(*made, begin +
                         R"("bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":9223372036854775807)" +
                         body.substr(body.rfind('}')));
  }
}

TEST(BootstrapBody, NamesARoomForEachPromptOfAList) {
  const std::vector<std::int64_t> rooms = {5, 9, 7};
  const auto made = bootstrap_body(R"({"prompt":["a","b","c"]})", {"fe80::1", 7001}, rooms);
  ASSERT_TRUE(made.has_value());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(*made).get(root), simdjson::SUCCESS);
  const auto text = [&](const char* key) { return std::string(simdjson::minify(root[key].value())); };
  EXPECT_EQ(text("bootstrap_host"), R"(["[fe80::1]","[fe80::1]","[fe80::1]"])");
  EXPECT_EQ(text("bootstrap_port"), "[7001,7001,7001]");
  EXPECT_EQ(text("bootstrap_room"), "[5,9,7]");
  EXPECT_EQ(text("prompt"), R"(["a","b","c"])");
}

TEST(BootstrapBody, OfWhatIsNoObjectThereIsNone) {
  const std::int64_t room = 1;
  for (const auto* body : {"", "[]", "7", "{\"a\":}", "{\"a\":1", "nonsense}"}) {
    EXPECT_FALSE(bootstrap_body(body, {"h", 1}, {&room, 1}).has_value()) << body;
  }
}

TEST(Disaggregation, IsReadWhereItIsTold) {
  const auto info =
      read_disaggregation(R"({"x":{},"disaggregation_mode":"prefill","disaggregation_bootstrap_port":7123})");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->mode, "prefill");
  EXPECT_EQ(info->bootstrap_port, 7123);
  for (const auto* port : {"null", "0", "65536", "-1", "\"8000\"", "[]"}) {
    const auto other = read_disaggregation(
        std::string(R"({"disaggregation_mode":"null","disaggregation_bootstrap_port":)") + port + "}");
    ASSERT_TRUE(other.has_value()) << port;
    EXPECT_EQ(other->bootstrap_port, default_bootstrap_port) << port;
  }
  for (const auto* page :
       {"", "{}", "[]", R"({"disaggregation_mode":null})", R"({"disaggregation_bootstrap_port":1})"}) {
    EXPECT_FALSE(read_disaggregation(page).has_value()) << page;
  }
}

}  // namespace
}  // namespace evenkeel::engines
