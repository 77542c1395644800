#include "forecast/history_file.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace evenkeel::forecast {
namespace {

class HistoryFile : public ::testing::Test {
 protected:
  HistoryFile() {
    std::string pattern = ::testing::TempDir() + "history_XXXXXX";
    folder = ::mkdtemp(pattern.data());
    path = folder + "/forecast";
  }
  ~HistoryFile() override { std::filesystem::remove_all(folder); }
  void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }

  std::string folder;
  std::string path;
};

SavedHistory sample() {
  return {0xFEDCBA9876543210U,
          {{"meta-llama/Llama 3\n\xC3\xA9", {{0xFFFFFFFFFFFFFFFFU, 12, 345, true}, {0, 0, 1, false}}}, {"b", {}}}};
}

std::string with_checksum_of(std::string body) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return body + fmt::format("checksum {:016x}\n", hash);
}

TEST_F(HistoryFile, ComesBackAsItWasWritten) {
  ASSERT_TRUE(write_history(sample(), path));
  const auto back = read_history(path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
  ASSERT_TRUE(write_history({7, {}}, path));
  EXPECT_EQ(read_history(path).value(), (SavedHistory{7, {}}));
}

TEST_F(HistoryFile, IsTextAsDocumented) {
  EXPECT_EQ(to_text({255, {{"ab", {{16, 3, 4, true}, {0, 5, 6, false}}}}}),
            with_checksum_of("evenkeel-forecast-history 1\nsalt 00000000000000ff\nmodel 2 6162\n3 4 c 10\n5 6 b 0\n"));
}

TEST_F(HistoryFile, IsItsOwnersAloneAndReplacesWhatLiesInTheWay) {
  write("old");
  std::filesystem::permissions(path, std::filesystem::perms::all);
  std::ofstream(folder + "/victim") << "untouched";
  std::filesystem::create_symlink(folder + "/victim", path + ".new");
  ASSERT_TRUE(write_history(sample(), path));
  struct stat status {};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | S_IRUSR | S_IWUSR);
  EXPECT_EQ(std::filesystem::file_size(folder + "/victim"), 9U);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(HistoryFile, CutOrChangedAnywhereIsRefused) {
  const std::string text = to_text(sample());
  ASSERT_TRUE(parse_history(text));
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse_history(text.substr(0, size))) << size;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(parse_history(other)) << at;
  }
  EXPECT_FALSE(parse_history(text + "\n"));
}

TEST_F(HistoryFile, SaysWhatIsWrong) {
  const std::string head = "evenkeel-forecast-history 1\nsalt 1\n";
  std::string crowd = head;
  for (int i = 0; i < 65; ++i) crowd += fmt::format("model 0 {:04x}\n", i);
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"evenkeel-forecast-history 2\nsalt 1\n", "another version"},
           {"evenkeel-forecast-history 1\nsalt x\n", "line 2"},
           {head + "model 1 61\n1 2 d 0\n", "line 4: \"1 2 d 0\" is not \"PROMPT OUTPUT c|b KEY\""},
           {head + "model 1 61\n-1 2 c 0\n", "line 4"},
           {head + "model 1 61\n1 2147483648 c 0\n", "line 4"},
           {head + "model 1 61\n1 2 c 10000000000000000\n", "line 4"},
           {head + "model 2 61\n1 2 c 0\n", "is not \"PROMPT"},
           {head + "model 8193 61\n", "COUNT at most 8192"},
           {head + "model 0 6\n", "NAME in hexadecimal"},
           {head + "model 0 \n", "NAME in hexadecimal"},
           {head + "model 0 61\nmodel 0 61\n", "one model twice"},
           {crowd, "more models than the 64"}}) {
    const auto history = parse_history(with_checksum_of(text));
    ASSERT_FALSE(history) << text;
    EXPECT_NE(history.error().message.find(part), std::string::npos) << history.error().message;
  }
}

TEST_F(HistoryFile, ErrorsOfTheDiskNameTheFile) {
  for (const auto& result : {read_history(path), read_history(folder)}) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(folder), std::string::npos) << result.error().message;
  }
  write("");
  std::filesystem::resize_file(path, largest_history_file + 1);
  EXPECT_NE(read_history(path).error().message.find("allowed: 67108864"), std::string::npos);
  EXPECT_FALSE(write_history(sample(), folder + "/none/forecast"));
  std::filesystem::create_directory(path + "_folder");
  EXPECT_FALSE(write_history(sample(), path + "_folder"));
}

}  // namespace
}  // namespace evenkeel::forecast
