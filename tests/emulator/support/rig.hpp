#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/emulator.hpp"
#include "http/client.hpp"

namespace evenkeel::emulator {

/// One emulated engine at 20 tokens/s for one request and 30 for two, a thousand times faster than life.
[[nodiscard]] inline EmulatorOptions quick_options() {
  EmulatorOptions options;
  options.model = "m";
  options.engine.law = engine::RateLaw{{20, 30}};
  options.engine.slots = 2;
  options.engine.kv_capacity = Tokens(16000);
  options.time_scale = 1000;
  options.draw_output = [](Random& random) { return 5 + static_cast<std::int64_t>(random.below(20)); };
  return options;
}

/// An answer, and how its connection ended.
struct Heard {
  http::ClientStatus status = http::ClientStatus::ok;
  int code = 0;
  std::string type;
  std::string body;
};

/// Speaks to one emulator from a fiber of the same loop. Waits end after a deadline that only a hang reaches.
class Talker {
 public:
  Talker(http::Fiber& fiber, http::Address to) : fiber_(fiber), to_(to) {}

  http::Task<Heard> ask(std::string method, std::string path, std::string body = {}, http::Fields fields = {}) {
    fiber_.set_deadline(fiber_.loop().now() + std::chrono::seconds(60));
    http::ClientExchange exchange(fiber_, to_);
    Heard heard;
    heard.status = co_await open(exchange, std::move(method), std::move(path), std::move(body), std::move(fields));
    if (heard.status == http::ClientStatus::ok) {
      heard.code = exchange.status();
      heard.type = exchange.field("Content-Type").value_or("");
      while (true) {
        const auto [status, bytes] = co_await exchange.next();
        heard.status = status;
        if (status != http::ClientStatus::ok || bytes.empty()) break;
        heard.body += bytes;
      }
    }
    fiber_.clear_deadline();
    co_return heard;
  }
  http::Task<Heard> post(std::string path, std::string body, http::Fields fields = {}) {
    return ask("POST", std::move(path), std::move(body), std::move(fields));
  }
  http::Task<Heard> get(std::string path) { return ask("GET", std::move(path)); }

  /// Sends and reads the head; the body is the caller's.
  http::Task<http::ClientStatus> open(http::ClientExchange& exchange, std::string method, std::string path,
                                      std::string body, http::Fields fields = {}) {
    http::ClientRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.host = "h";
    request.fields = std::move(fields);
    const auto is_type = [](const auto& field) { return field.first == "Content-Type"; };
    if (!body.empty() && std::ranges::none_of(request.fields, is_type)) {
      request.fields.emplace_back("Content-Type", "application/json");
    }
    request.body = std::move(body);
    auto status = co_await exchange.send(request);
    if (status == http::ClientStatus::ok) status = co_await exchange.read_head();
    co_return status;
  }

  /// A number of GET /emulator/state.
  http::Task<std::int64_t> state(std::string key) {
    const Heard heard = co_await get("/emulator/state");
    simdjson::dom::parser parser;
    std::int64_t value = -1;
    EXPECT_EQ(parser.parse(heard.body)[key].get(value), simdjson::SUCCESS) << key << " in " << heard.body;
    co_return value;
  }
  /// Asks until the number is `wanted`; the test's own time limit ends it otherwise.
  http::Task<void> until_state(std::string key, std::int64_t wanted) {
    // Not in the condition of a while: g++ 12 makes that an illegal instruction.
    while (true) {
      const std::int64_t now = co_await state(key);
      if (now == wanted) co_return;
    }
  }

  [[nodiscard]] http::Fiber& fiber() { return fiber_; }
  [[nodiscard]] const http::Address& to() const { return to_; }

 private:
  http::Fiber& fiber_;
  http::Address to_;
};

/// Runs `story` (a coroutine function) against a fresh emulator.
inline void tell(const EmulatorOptions& options, http::Task<void> (*story)(Talker&)) {
  http::EventLoop loop;
  auto fleet = Emulator::open(loop, options);
  ASSERT_TRUE(fleet.has_value()) << fleet.error().message;
  const auto to = http::resolve("127.0.0.1", fleet->ports().at(0));
  loop.spawn(
      [](http::Fiber& fiber, http::Address at, http::Task<void> (*what)(Talker&)) -> http::Task<void> {
        Talker talker(fiber, at);
        co_await what(talker);
        fiber.loop().stop();
      },
      *to, story);
  loop.run();
}

[[nodiscard]] inline std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

}  // namespace evenkeel::emulator
