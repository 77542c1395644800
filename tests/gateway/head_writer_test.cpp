#include "gateway/head_writer.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace evenkeel::gateway {
namespace {

TEST(HeadWriter, AppendsBehindWhatIsThereHoweverLittleRoomItWasGiven) {
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{30}, std::size_t{1000}}) {
    std::string out = "before ";
    {
      HeadWriter writer(out, room);
      writer << "Content-Length: " << std::uint64_t{0} << "\r\n"
             << std::string(100, 'x') << "" << std::uint64_t{10} << std::string_view();
    }
    EXPECT_EQ(out, "before Content-Length: 0\r\n" + std::string(100, 'x') + "10") << room;
  }
}

TEST(HeadWriter, WritesEveryNumber) {
  for (const std::uint64_t number : {std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{18446744073709551615U}}) {
    std::string out;
    { HeadWriter(out, 0) << number; }
    EXPECT_EQ(out, std::to_string(number));
  }
}

}  // namespace
}  // namespace evenkeel::gateway
