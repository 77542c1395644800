#include "http/sse.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::http {
namespace {

/// Events of `bytes` when it arrives in pieces of `step` bytes.
std::vector<std::string> events(const std::string& bytes, std::size_t step) {
  EventBoundaries boundaries;
  std::vector<std::string> found;
  std::string open;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto piece = std::string_view(bytes).substr(at, step);
    std::size_t from = 0;
    while (true) {
      const auto end = boundaries.next(piece, from);
      open += piece.substr(from, end == EventBoundaries::npos ? end : end - from);
      if (end == EventBoundaries::npos) break;
      found.push_back(open);
      open.clear();
      from = end;
    }
  }
  if (!open.empty()) found.push_back("(open)" + open);
  return found;
}

TEST(EventBoundaries, FindsEventsForEveryLineEndAndEveryCut) {
  for (const std::string eol : {"\n", "\r\n", "\r"}) {
    const std::string first = "data: {\"a\":1}" + eol + eol;
    const std::string second = ": ping" + eol + "event: x" + eol + "data:y" + eol + eol;
    const std::string last = "data: [DONE]" + eol + eol;
    const std::string all = first + second + last;
    for (std::size_t step = 1; step <= all.size(); ++step) {
      const auto found = events(all, step);
      std::string joined;
      std::size_t whole = 0;
      for (const auto& event : found) {
        joined += event.starts_with("(open)") ? event.substr(6) : event;
        whole += event.starts_with("(open)") ? 0 : 1;
      }
      EXPECT_EQ(joined, all);
      EXPECT_EQ(whole, 3U) << "eol size " << eol.size() << " step " << step;
    }
  }
}

TEST(EventBoundaries, LeavesAnUnfinishedEventOpen) {
  EXPECT_EQ(events("data: 1\n\ndata: 2\n", 3), (std::vector<std::string>{"data: 1\n\n", "(open)data: 2\n"}));
  EXPECT_EQ(events("\n\n\ndata: 1\n\n", 2), (std::vector<std::string>{"\n\n\ndata: 1\n\n"}));
}

TEST(EventView, TakesNameAndFirstData) {
  const auto view = view_event("event: error\ndata:{\"x\":1}\ndata: more\n\n");
  EXPECT_EQ(view.name, "error");
  EXPECT_EQ(view.data, "{\"x\":1}");
  EXPECT_FALSE(view.comment_only);
  EXPECT_TRUE(view_event(": keep-alive\n\n").comment_only);
  EXPECT_EQ(view_event("data:  two blanks\r\n\r\n").data, " two blanks");
  EXPECT_EQ(view_event("database: 1\n\n").data, "");
}

}  // namespace
}  // namespace evenkeel::http
