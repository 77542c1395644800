#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/server.hpp"

namespace evenkeel::http {
namespace {

Task<void> echo(Fiber&, const ServerRequest& request, Responder& responder) {
  if (request.path == "/stream") {
    (void)co_await responder.begin_stream(200, "text/plain");
    for (int i = 0; i < 5; ++i) (void)co_await responder.write("part" + std::to_string(i));
    (void)co_await responder.end_stream();
    co_return;
  }
  if (request.path == "/die") {
    (void)co_await responder.begin_stream(200, "text/plain");
    (void)co_await responder.write("half");
    responder.abort();
    co_return;
  }
  (void)co_await responder.send(200, "text/plain", request.method + " " + request.path + " " + request.body);
}

struct Rig {
  EventLoop loop;
  std::unique_ptr<Server> server;
  Rig() {
    auto opened = Server::open(loop, *resolve("127.0.0.1", 0), echo);
    EXPECT_TRUE(opened.has_value());
    server = std::move(*opened);
  }
  Address address() { return *resolve("127.0.0.1", server->port()); }
};

Task<void> ask(Fiber& fiber, Address to, ClientRequest request, ConnectionPool* pool,
               std::vector<FetchResult>* results) {
  results->push_back(
      co_await fetch(fiber, to, std::move(request), fiber.loop().now() + std::chrono::seconds(20), 1 << 20, pool));
  fiber.loop().stop();
}

FetchResult ask_once(ClientRequest request) {
  Rig rig;
  std::vector<FetchResult> results;
  rig.loop.spawn(ask, rig.address(), std::move(request), nullptr, &results);
  rig.loop.run();
  return results.at(0);
}

TEST(Server, AnswersWholeRequests) {
  const auto result = ask_once({.method = "POST", .path = "/x?q=1", .host = "h", .fields = {}, .body = "hello"});
  EXPECT_EQ(result.status, ClientStatus::ok);
  EXPECT_EQ(result.code, 200);
  EXPECT_EQ(result.body, "POST /x hello");
}

TEST(Server, StreamsInChunks) {
  EXPECT_EQ(ask_once({.path = "/stream", .host = "h"}).body, "part0part1part2part3part4");
}

TEST(Server, ADyingServerIsNotACompleteAnswer) {
  EXPECT_EQ(ask_once({.path = "/die", .host = "h"}).status, ClientStatus::broken);
}

TEST(Server, RefusesABodyOverItsLimit) {
  EventLoop loop;
  ServerLimits limits;
  limits.body = 10;
  auto server = Server::open(loop, *resolve("127.0.0.1", 0), echo, limits);
  std::vector<FetchResult> results;
  loop.spawn(ask, *resolve("127.0.0.1", (*server)->port()),
             ClientRequest{.method = "POST", .path = "/", .host = "h", .fields = {}, .body = "12345678901"}, nullptr,
             &results);
  loop.run();
  EXPECT_EQ(results.at(0).code, 413);
}

TEST(Client, ReusesAKeptConnection) {
  Rig rig;
  ConnectionPool pool({});
  std::vector<FetchResult> results;
  for (int i = 0; i < 3; ++i) {
    EventLoop& loop = rig.loop;
    loop.spawn(
        [](Fiber& fiber, Address to, ConnectionPool* kept, std::vector<FetchResult>* into) -> Task<void> {
          for (int n = 0; n < 3; ++n) {
            ClientRequest request;
            request.path = "/" + std::to_string(n);
            request.host = "h";
            const Time deadline = fiber.loop().now() + std::chrono::seconds(20);
            into->push_back(co_await fetch(fiber, to, std::move(request), deadline, 1000, kept));
          }
          if (into->size() == 9) fiber.loop().stop();
        },
        rig.address(), &pool, &results);
  }
  rig.loop.run();
  EXPECT_EQ(results.size(), 9U);
  EXPECT_EQ(rig.server->connections(), 3U);
  EXPECT_EQ(pool.size(), 3U);
}

TEST(Client, AConnectionRefusedIsSaidSo) {
  EventLoop loop;
  std::uint16_t port = 0;
  {
    auto server = Server::open(loop, *resolve("127.0.0.1", 0), echo);
    port = (*server)->port();
    (*server)->stop_accepting();
  }
  loop.run(true);
  std::vector<FetchResult> results;
  loop.spawn(ask, *resolve("127.0.0.1", port), ClientRequest{.path = "/", .host = "h"}, nullptr, &results);
  loop.run();
  EXPECT_EQ(results.at(0).status, ClientStatus::connect_failed);
}

TEST(EventLoop, DeadlinesFireInOrderAndOnlyTheLastOneSetCounts) {
  EventLoop loop;
  std::string order;
  const Time start = loop.now();
  for (const int millis : {30, 10, 20}) {
    loop.spawn(
        [](Fiber& fiber, Time when, std::string* out, int name) -> Task<void> {
          fiber.set_deadline(when - std::chrono::milliseconds(9));  // earlier first, then moved later
          co_await fiber.sleep_until(when);
          *out += std::to_string(name) + " ";
        },
        start + std::chrono::milliseconds(millis), &order, millis);
  }
  loop.run(true);
  EXPECT_EQ(order, "10 20 30 ");
}

TEST(EventLoop, RunsCallsPostedByOtherThreads) {
  EventLoop loop;
  int calls = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop.post([&] { ++calls; });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  EXPECT_EQ(calls, 1000);
}

}  // namespace
}  // namespace evenkeel::http
