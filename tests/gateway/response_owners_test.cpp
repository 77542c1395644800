#include "gateway/response_owners.hpp"

#include <string>

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

std::string id(int number) { return "resp_" + std::to_string(number); }

TEST(ResponseOwners, RemembersTheLastSoManyAndNoMore) {
  ResponseOwners owners(100);
  for (int i = 0; i < 1000; ++i) owners.remember(id(i), WorkerId{static_cast<std::uint32_t>(i % 7)});
  for (int i = 0; i < 900; ++i) EXPECT_EQ(owners.find(id(i)), std::nullopt) << i;
  for (int i = 900; i < 1000; ++i) EXPECT_EQ(owners.find(id(i)), WorkerId{static_cast<std::uint32_t>(i % 7)}) << i;
}

TEST(ResponseOwners, AnIdKeepsItsFirstOwnerAndItsOnePlace) {
  // Another worker's answer must not take over an id, and repeating one must not push others out.
  ResponseOwners owners(2);
  owners.remember("a", WorkerId{1});
  owners.remember("b", WorkerId{2});
  for (int i = 0; i < 10; ++i) owners.remember("a", WorkerId{3});
  EXPECT_EQ(owners.find("a"), WorkerId{1});
  EXPECT_EQ(owners.find("b"), WorkerId{2});
}

TEST(ResponseOwners, NothingThatCouldGrowWithoutBoundIsKept) {
  ResponseOwners owners(10);
  owners.remember("", WorkerId{1});
  owners.remember(std::string(257, 'x'), WorkerId{1});
  EXPECT_EQ(owners.find(""), std::nullopt);
  EXPECT_EQ(owners.find(std::string(257, 'x')), std::nullopt);
  ResponseOwners off(0);
  off.remember("a", WorkerId{1});
  EXPECT_EQ(off.find("a"), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::gateway
