#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "observe/log_writer.hpp"

namespace evenkeel::observe {
namespace {

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() {
    std::string name = (std::filesystem::temp_directory_path() / "evenkeel-log-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~LogWriterTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(LogWriterTest, LinesOfManyThreadsArriveWholeAndOnce) {
  constexpr int threads = 4, each = 5000;
  {
    auto log = LogWriter::open(path("log"), "access log");
    ASSERT_TRUE(log) << log.error().message;
    std::vector<std::thread> writers;
    for (int t = 0; t < threads; ++t) {
      writers.emplace_back([&, t] {
        for (int i = 0; i < each; ++i)
          (*log)->append(std::to_string(t * each + i) + std::string(static_cast<std::size_t>(i % 50), '.') + "\n");
      });
    }
    for (auto& writer : writers) writer.join();
    EXPECT_EQ((*log)->dropped(), 0U);
  }
  std::ifstream file(path("log"));
  std::set<int> seen;
  for (std::string line; std::getline(file, line);) {
    const int number = std::stoi(line);
    EXPECT_TRUE(seen.insert(number).second) << line;
    EXPECT_EQ(line, std::to_string(number) + std::string(static_cast<std::size_t>(number % each % 50), '.'));
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(threads * each));
}

TEST_F(LogWriterTest, AppendsToWhatIsThere) {
  std::ofstream(path("log")) << "before\n";
  {
    auto log = LogWriter::open(path("log"), "access log");
    ASSERT_TRUE(log);
    (*log)->append("after\n");
  }
  std::ifstream file(path("log"));
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first + "," + second, "before,after");
}

TEST_F(LogWriterTest, ALineThatACrashLeftUnfinishedIsEndedFirst) {
  std::ofstream(path("log")) << "whole\nhalf";
  {
    auto log = LogWriter::open(path("log"), "access log");
    ASSERT_TRUE(log);
    (*log)->append("after\n");
  }
  std::ifstream file(path("log"));
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(all, "whole\nhalf\nafter\n");
}

TEST_F(LogWriterTest, AFileForOneIsRefusedToASecond) {
  const auto first = LogWriter::open(path("log"), "recording", true);
  ASSERT_TRUE(first);
  const auto second = LogWriter::open(path("log"), "recording", true);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("the recording \"" + path("log") + "\": another process"), std::string::npos)
      << second.error().message;
}

TEST_F(LogWriterTest, LinesThatAFullDiskDoesNotTakeAreCounted) {
  auto log = LogWriter::open("/dev/full", "access log");
  ASSERT_TRUE(log) << log.error().message;
  for (int i = 0; i < 7; ++i) (*log)->append("a line\n");
  while ((*log)->dropped() < 7) std::this_thread::yield();
  EXPECT_EQ((*log)->dropped(), 7U);
}

TEST_F(LogWriterTest, APipeThatNobodyReadsIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(LogWriter::open(path("pipe"), "access log"));
}

TEST_F(LogWriterTest, ANewFileIsNotForEverybody) {
  auto log = LogWriter::open(path("log"), "access log");
  ASSERT_TRUE(log);
  struct stat about {};
  ASSERT_EQ(::stat(path("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07, 0U);
}

TEST_F(LogWriterTest, SaysWhichFileCannotBeOpened) {
  const auto log = LogWriter::open(path("no/such/folder"), "access log");
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find(path("no/such/folder")), std::string::npos) << log.error().message;
}

TEST_F(LogWriterTest, ADiskThatDoesNotTakeThemCostsWholeLinesAndTheyAreCounted) {
  // A pipe that nobody reads stands for the slow disk: its 64 KiB fill, the writer thread waits, memory fills up.
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto log = LogWriter::open(path("pipe"), "access log");
  ASSERT_TRUE(log) << log.error().message;
  const std::string filler(4000, '.');
  std::uint64_t appended = 0;
  while ((*log)->dropped() < 10 && appended < 100 * LogWriter::limit / filler.size()) {
    (*log)->append(std::to_string(appended++) + filler + "\n");
  }
  const std::uint64_t dropped = (*log)->dropped();
  ASSERT_GE(dropped, 10U);

  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);  // from here on the disk is quick, and reads wait
  std::string received;
  std::thread reading([&] {
    std::array<char, 65536> part{};
    for (ssize_t count = 0; (count = ::read(reader, part.data(), part.size())) > 0;)
      received.append(part.data(), static_cast<std::size_t>(count));
  });
  (*log).reset();  // writes out what is left
  reading.join();
  ::close(reader);
  std::uint64_t lines = 0, last = 0;
  for (std::size_t at = 0; at < received.size(); ++lines) {
    const std::size_t end = received.find('\n', at);
    ASSERT_NE(end, std::string::npos) << "a line without its end";
    const std::uint64_t number = std::stoull(received.substr(at, 20));
    ASSERT_EQ(end - at, std::to_string(number).size() + filler.size()) << "a line that is not whole";
    ASSERT_TRUE(lines == 0 || number > last);
    last = number;
    at = end + 1;
  }
  EXPECT_EQ(lines + dropped, appended);
}

}  // namespace
}  // namespace evenkeel::observe
