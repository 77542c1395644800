#include "config/reference.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "config/support.hpp"
#include "config/table.hpp"

namespace evenkeel::config {
namespace {

std::string document() {
  std::ifstream in(EVENKEEL_SOURCE_DIR "/docs/configuration.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Reference, TheDocumentEndsWithTheProgramsOwnTables) {
  const std::string expected = reference_markdown();
  if (!document().ends_with("-->\n\n" + expected)) {
    const std::string path = fmt::format("{}configuration-tables.{}.md", testing::TempDir(), getpid());
    std::ofstream(path, std::ios::binary) << expected;
    FAIL() << "docs/configuration.md is out of date; what should follow its last comment is in " << path;
  }
}

TEST(Reference, TheExampleOfTheDocumentIsRead) {
  const std::string text = document();
  const auto begin = text.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  std::string example = text.substr(begin + 8, text.find("```", begin + 8) - begin - 8);
  const std::string key = fmt::format("{}evenkeel_reference_key.{}", testing::TempDir(), getpid());
  std::ofstream(key) << "sk-1\n";
  const std::string there = "/etc/evenkeel/engine.key";
  ASSERT_NE(example.find(there), std::string::npos);
  example.replace(example.find(there), there.size(), key);
  const auto settings = of_text(example);
  std::remove(key.c_str());
  ASSERT_TRUE(settings) << why(settings);
  EXPECT_EQ(settings->workers.size(), 2U);
  EXPECT_EQ(settings->models[0].timeouts.total, std::chrono::minutes(10));
}

TEST(Reference, FlagsAndPathsAreUnique) {
  std::set<std::string> seen;
  for (const auto& setting : serve_table()) {
    EXPECT_TRUE(seen.insert(setting.path()).second) << setting.path();
    EXPECT_TRUE(seen.insert(std::string(setting.flag)).second) << setting.flag;
    EXPECT_FALSE(setting.doc.empty() || setting.doc.ends_with('.')) << setting.path();
  }
}

}  // namespace
}  // namespace evenkeel::config
