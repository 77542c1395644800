#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "gateway/outbox.hpp"

namespace evenkeel::gateway {
namespace {

/// A pair of connected sockets with little room between them: [0] is wrapped into a stream, [1] read by hand.
struct Pair {
  Pair() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    const int room = 4096;
    EXPECT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
  }
  ~Pair() { close_far_end(); }
  void close_far_end() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  /// Takes what lies there, at most so much.
  std::string read(std::size_t at_most) {
    std::string bytes(at_most, '\0');
    const ssize_t count = ::read(ends[1], bytes.data(), bytes.size());
    EXPECT_TRUE(count > 0 || (count < 0 && errno == EAGAIN));
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  std::array<int, 2> ends{-1, -1};
};

/// Puts all texts, a few parts at a time, while the far end is read now and then; then waits until all is through.
http::Task<void> put_all(http::Fiber& fiber, Pair* pair, const std::vector<std::string>* texts, std::string* received,
                         bool* was_kept) {
  http::Stream stream(fiber.loop(), pair->ends[0]);
  stream.bind(&fiber);
  Outbox outbox(stream);
  Random random(3);
  for (std::size_t at = 0; at < texts->size();) {
    std::vector<std::string_view> parts;
    for (auto count = 1 + random.below(5); count > 0 && at < texts->size(); --count) parts.emplace_back((*texts)[at++]);
    EXPECT_TRUE(outbox.put(parts));
    *was_kept = *was_kept || !outbox.clear();
    if (random.below(3) == 0) *received += pair->read(1 + random.below(6000));
  }
  while (!outbox.clear()) {
    for (std::string more = pair->read(65536); !more.empty(); more = pair->read(65536)) *received += more;
    EXPECT_TRUE(outbox.flush());
    if (!outbox.clear()) co_await fiber.wait();
  }
  for (std::string more = pair->read(65536); !more.empty(); more = pair->read(65536)) *received += more;
}

TEST(Outbox, KeepsWhatDoesNotFitAndItsOrder) {
  Random random(1);
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    std::string text(random.below(400), '\0');
    for (char& c : text) c = static_cast<char>('a' + random.below(26));
    expected += text;
    texts.push_back(std::move(text));
  }
  http::EventLoop loop;
  Pair pair;
  std::string received;
  bool was_kept = false;
  loop.spawn(put_all, &pair, &texts, &received, &was_kept);
  loop.run(true);
  EXPECT_TRUE(was_kept);
  EXPECT_TRUE(received == expected) << received.size() << " of " << expected.size() << " bytes, or in another order";
}

TEST(Outbox, MorePartsThanTheKernelTakesAtOnceLoseNothing) {
  http::EventLoop loop;
  Pair pair;
  http::Stream stream(loop, pair.ends[0]);
  Outbox outbox(stream);
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += static_cast<char>('a' + i % 26);
  std::vector<std::string_view> parts;
  for (std::size_t i = 0; i < expected.size(); ++i) parts.push_back(std::string_view(expected).substr(i, 1));
  ASSERT_TRUE(outbox.put(parts));
  std::string received;
  for (int turns = 0; turns < 100 && received.size() < expected.size(); ++turns) {
    ASSERT_TRUE(outbox.flush());
    received += pair.read(65536);
  }
  EXPECT_TRUE(outbox.clear());
  EXPECT_EQ(received, expected);
}

TEST(Outbox, NothingToWriteIsNoWrite) {
  http::EventLoop loop;
  Pair pair;
  http::Stream stream(loop, pair.ends[0]);
  Outbox outbox(stream);
  EXPECT_TRUE(outbox.put({}));
  const std::string_view empty[] = {"", ""};
  EXPECT_TRUE(outbox.put(empty));
  EXPECT_TRUE(outbox.clear());
  EXPECT_EQ(pair.read(10), "");
}

TEST(Outbox, SaysSoWhenTheStreamIsBroken) {
  http::EventLoop loop;
  Pair pair;
  http::Stream stream(loop, pair.ends[0]);
  Outbox outbox(stream);
  pair.close_far_end();
  const std::string_view parts[] = {"a"};
  EXPECT_FALSE(outbox.put(parts));
}

}  // namespace
}  // namespace evenkeel::gateway
