#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "gateway/answer_scan.hpp"

namespace evenkeel::gateway {
namespace {

using Counts = std::optional<std::pair<std::int64_t, std::int64_t>>;

Counts found(std::string_view json) {
  const auto usage = find_usage(json);
  return usage ? Counts({usage->prompt, usage->output}) : std::nullopt;
}

std::optional<std::int64_t> count_in(simdjson::dom::object object, std::string_view name) {
  std::int64_t value = 0;
  if (object[name].get(value) != simdjson::SUCCESS || value < 0) return std::nullopt;
  return value;
}

/// The last "usage" object with counts of a parsed document, in the order in which the keys stand in it.
void look_for_usage(simdjson::dom::element in, Counts& last) {
  simdjson::dom::array list;
  if (in.get(list) == simdjson::SUCCESS) {
    for (const auto element : list) look_for_usage(element, last);
  }
  simdjson::dom::object object;
  if (in.get(object) != simdjson::SUCCESS) return;
  for (const auto field : object) {
    simdjson::dom::object usage;
    if (field.key == "usage" && field.value.get(usage) == simdjson::SUCCESS) {
      auto prompt = count_in(usage, "prompt_tokens");
      auto output = count_in(usage, "completion_tokens");
      if (!prompt) prompt = count_in(usage, "input_tokens");
      if (!output) output = count_in(usage, "output_tokens");
      if (prompt || output) last = {prompt.value_or(0), output.value_or(0)};
    }
    look_for_usage(field.value, last);
  }
}

TEST(FindUsage, ReadsOpenAisNamesAndAnthropics) {
  EXPECT_EQ(found(R"({"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}})"), Counts({5, 3}));
  EXPECT_EQ(found(R"({"usage" : { "input_tokens" : 7 , "output_tokens" : 2 } })"), Counts({7, 2}));
  EXPECT_EQ(found(R"({"usage":{"prompt_tokens":5}})"), Counts({5, 0}));
  EXPECT_EQ(found(R"({"usage":null})"), std::nullopt);
  EXPECT_EQ(found(R"({"usage":{}})"), std::nullopt);
  EXPECT_EQ(found(""), std::nullopt);
}

TEST(FindUsage, CountsStandAtTheFirstLevelOfTheUsageItself) {
  EXPECT_EQ(found(R"({"usage":{"details":{"prompt_tokens":1},"prompt_tokens":9,"completion_tokens":4}})"),
            Counts({9, 4}));
  EXPECT_EQ(found(R"({"usage":{"input_tokens_details":{"input_tokens":1},"output_tokens":4}})"), Counts({0, 4}));
  EXPECT_EQ(found(R"({"usage":{"total_tokens":5},"budget":{"prompt_tokens":9}})"), std::nullopt);
  EXPECT_EQ(found(R"({"usage":{"note":"}","prompt_tokens":2,"completion_tokens":1}})"), Counts({2, 1}));
}

TEST(FindUsage, ReadsWhatWasFoundInAPrefixCacheFromItsDetails) {
  const auto cached = [](std::string_view json) { return find_usage(json)->cached; };
  EXPECT_EQ(
      cached(R"({"usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}})"), 4);
  EXPECT_EQ(
      cached(R"({"usage":{"input_tokens":5,"input_tokens_details":{"x":{"cached_tokens":9},"cached_tokens":0}}})"), 0);
  EXPECT_EQ(cached(R"({"usage":{"prompt_tokens":5,"prompt_tokens_details":null}})"), -1);
  EXPECT_EQ(cached(R"({"usage":{"prompt_tokens":5,"cached_tokens":7}})"), -1);
}

TEST(FindUsage, TakesNothingThatIsNotWhole) {
  const std::string whole = R"({"usage":{"prompt_tokens":123,"completion_tokens":45}})";
  for (std::size_t size = 0; size < whole.size() - 1; ++size)
    EXPECT_EQ(found(whole.substr(0, size)), std::nullopt) << size;
  EXPECT_EQ(found(whole.substr(0, whole.size() - 1)), Counts({123, 45}));
}

TEST(FindUsage, GeneratedTextCannotForgeIt) {
  std::string body = R"({"choices":[{"text":)";
  append_json_string(body, R"(","usage":{"prompt_tokens":1,"completion_tokens":1000000})");
  EXPECT_EQ(found(body + "}]}"), std::nullopt);
  EXPECT_EQ(found(body + R"(}],"usage":{"prompt_tokens":3,"completion_tokens":2}})"), Counts({3, 2}));
  EXPECT_EQ(found(R"({"\"usage":{"prompt_tokens":1},"x":"\"usage"})"), std::nullopt);
}

/// Random documents of the keys and texts that could confuse a search.
class Documents {
 public:
  explicit Documents(std::uint64_t seed) : random_(seed) {}

  std::string object(int depth) {
    constexpr const char* keys[] = {"usage", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens",
                                    "text",  "\"usage"};
    bool used[7] = {};
    std::string out = "{";
    for (auto members = random_.below(5); members > 0; --members) {
      const std::size_t key = random_.below(3) == 0 ? 0 : random_.below(7);
      if (std::exchange(used[key], true)) continue;  // of a key given twice simdjson tells the first
      if (out.size() > 1) out += ',' + blank();
      append_json_string(out, keys[key]);
      out += blank() + ':' + blank();
      out += key == 0 && depth > 0 && random_.below(4) > 0 ? object(depth - 1) : value(depth);
    }
    return out + blank() + '}';
  }

 private:
  std::string blank() { return std::string(random_.below(2), " \n"[random_.below(2)]); }
  std::string value(int depth) {
    constexpr const char* texts[] = {"",         "\"usage\":{\"prompt_tokens\":77}", "}", "{\"usage\":", "\\", "usage",
                                     "\"usage\""};
    std::string out;
    switch (random_.below(depth > 0 ? 6 : 4)) {
      case 0:
      case 1: return std::to_string(random_.below(100000));
      case 2: append_json_string(out, texts[random_.below(7)]); return out;
      case 3: return random_.below(2) == 0 ? "null" : "-5";
      case 4: return object(depth - 1);
      default: return "[" + value(depth - 1) + "," + value(depth - 1) + "]";
    }
  }
  Random random_;
};

TEST(FindUsage, AgreesWithSimdjsonOnRandomDocuments) {
  Documents documents(11);
  int with_usage = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string json = documents.object(4);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    ASSERT_EQ(parser.parse(json).get(root), simdjson::SUCCESS) << json;
    Counts expected;
    look_for_usage(root, expected);
    ASSERT_EQ(found(json), expected) << json;
    with_usage += expected ? 1 : 0;
  }
  EXPECT_GT(with_usage, 2000);
}

}  // namespace
}  // namespace evenkeel::gateway
