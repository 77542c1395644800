#include "pressure/host.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>

#include <filesystem>

#include "pressure/support.hpp"

namespace evenkeel::pressure {
namespace {

TEST(PressureHost, AHealthyBoxIsReadWhole) {
  const Reading reading = recorded("healthy").read(at(3));
  EXPECT_EQ(reading.at, at(3));
  ASSERT_TRUE(reading.memory) << why(reading.memory);
  EXPECT_EQ(reading.memory->available, Bytes(90LL << 30U));
  ASSERT_TRUE(reading.swap) << why(reading.swap);
  EXPECT_NEAR(reading.swap->used_percent(), 5, 1e-4);
  EXPECT_TRUE(reading.cpu) << why(reading.cpu);
  EXPECT_TRUE(reading.swap_pages) << why(reading.swap_pages);
  EXPECT_TRUE(reading.memory_stalls) << why(reading.memory_stalls);
  EXPECT_TRUE(reading.io_stalls) << why(reading.io_stalls);
  EXPECT_TRUE(reading.cpu_stalls) << why(reading.cpu_stalls);
  ASSERT_TRUE(reading.own) << why(reading.own);
  EXPECT_EQ(reading.own->path, "/system.slice/evenkeel.service");
  EXPECT_TRUE(reading.own->memory) << why(reading.own->memory);
  EXPECT_EQ(reading.own->used.value_or(Bytes()), Bytes(70 << 20));
  EXPECT_EQ(reading.own->limit.value_or(std::nullopt), Bytes(1 << 30));
  ASSERT_TRUE(reading.own->swap_limit);
  EXPECT_FALSE(*reading.own->swap_limit);
}

TEST(PressureHost, WhatIsDamagedIsNotKnownAndSaysWhere) {
  const Reading reading = recorded("damaged").read(at(0));
  EXPECT_EQ(why(reading.memory), "/proc/meminfo: MemAvailable is \"a\", which is no count");
  EXPECT_EQ(why(reading.swap), "/proc/meminfo: SwapFree is over SwapTotal");
  EXPECT_EQ(why(reading.cpu), "/proc/stat: there is no line \"cpu\" with its iowait");
  EXPECT_EQ(why(reading.swap_pages), "/proc/vmstat: pswpin is \"-3\", which is no count");
  EXPECT_EQ(why(reading.memory_stalls), "/proc/pressure/memory: the line \"some\" has no avg10= from 0 to 100");
  EXPECT_EQ(why(reading.io_stalls), "/proc/pressure/io: the line \"some\" has no four figures");
  EXPECT_EQ(why(reading.cpu_stalls), "/proc/pressure/cpu: there is no line \"some\"");
  EXPECT_EQ(why(reading.own), "/proc/self/cgroup: the cgroup is outside of this namespace");
}

TEST(PressureHost, AFolderWithNothingInItIsNotACalmBox) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "evenkeel-pressure-empty";
  std::filesystem::create_directories(folder / "proc/stat");  // a folder where a file should be
  std::filesystem::remove(folder / "proc/meminfo");
  ASSERT_EQ(::mkfifo((folder / "proc/meminfo").c_str(), 0600), 0);  // must not be waited for
  const Reading reading = Host(folder.string()).read(at(0));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(why(reading.swap), "/proc/meminfo: it is no file");
  EXPECT_EQ(why(reading.cpu), "/proc/stat: it is no file");
  EXPECT_EQ(why(reading.io_stalls), "/proc/pressure/io: No such file or directory");
  EXPECT_FALSE(reading.own);
}

TEST(PressureHost, AKernelWithoutStallInformationLeavesTheRestKnown) {
  const Reading reading = recorded("no-psi").read(at(0));
  EXPECT_FALSE(reading.memory_stalls);
  EXPECT_TRUE(reading.swap);
  ASSERT_TRUE(reading.own);
  EXPECT_FALSE(reading.own->memory);
  EXPECT_TRUE(reading.own->used);
}

TEST(PressureHost, TheCgroupThatIsChargedIsFound) {
  const auto found = recorded("false-pressure").worst_cgroups(2);
  ASSERT_TRUE(found) << why(found);
  ASSERT_EQ(found->worst.size(), 2U);
  EXPECT_EQ(found->worst[0].path, "/user.slice");
  EXPECT_EQ(found->worst[0].io.avg10, 96.66);
  EXPECT_EQ(found->worst[0].memory.avg10, 0);
  EXPECT_TRUE(found->all);
  EXPECT_EQ(found->looked_at, 8U);  // the root, the router's two, the terminal's five
  const auto calm = recorded("healthy").worst_cgroups(5);
  ASSERT_TRUE(calm);
  EXPECT_TRUE(calm->worst.empty());
  EXPECT_FALSE(recorded("damaged").worst_cgroups(5));
}

TEST(PressureHost, ThisMachineIsReadAsItsKernelCountsIt) {
  const Reading reading = Host("/").read(at(0));
  struct statfs proc {};
  struct sysinfo told {};
  ASSERT_EQ(::sysinfo(&told), 0);
  // Some containers put a file of their own in the place of /proc/meminfo.
  if (::statfs("/proc/meminfo", &proc) == 0 && proc.f_type == PROC_SUPER_MAGIC) {
    ASSERT_TRUE(reading.swap) << why(reading.swap);
    EXPECT_EQ(reading.swap->total.value(), static_cast<std::int64_t>(told.totalswap * told.mem_unit));
    ASSERT_TRUE(reading.memory) << why(reading.memory);
    EXPECT_EQ(reading.memory->total.value(), static_cast<std::int64_t>(told.totalram * told.mem_unit));
  }
  ASSERT_TRUE(reading.cpu) << why(reading.cpu);
  EXPECT_GT(reading.cpu->total, 0U);
  EXPECT_LE(reading.cpu->iowait, reading.cpu->total);
}

}  // namespace
}  // namespace evenkeel::pressure
