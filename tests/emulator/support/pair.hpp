#pragma once

#include <string>

#include "emulator/support/rig.hpp"

namespace evenkeel::emulator {

/// 10 ms a step and 0.1 ms a token, a thousand times faster than life; leases that do not end within a test.
[[nodiscard]] inline EmulatorOptions with_role(Role role) {
  auto options = quick_options();
  options.engine = {};
  options.engine.law = engine::StepLaw{.fixed_ms = 10, .token_ms = 0.1};
  options.engine.kv_capacity = Tokens(16000);
  options.kv = KvOptions{.role = role, .lease = std::chrono::hours(1)};
  return options;
}

/// Two emulators on one loop, of options of their own.
struct Pair {
  Talker prefill;
  Talker decode;
};

inline void tell_pair(const EmulatorOptions& prefill, const EmulatorOptions& decode, http::Task<void> (*story)(Pair&)) {
  http::EventLoop loop;
  auto first = Emulator::open(loop, prefill);
  auto second = Emulator::open(loop, decode);
  ASSERT_TRUE(first.has_value() && second.has_value());
  loop.spawn(
      [](http::Fiber& fiber, http::Address p, http::Address d, http::Task<void> (*what)(Pair&)) -> http::Task<void> {
        Pair pair{Talker(fiber, p), Talker(fiber, d)};
        co_await what(pair);
        fiber.loop().stop();
      },
      *http::resolve("127.0.0.1", first->ports().at(0)), *http::resolve("127.0.0.1", second->ports().at(0)), story);
  loop.run();
}

inline const std::string question = R"({"messages":[{"role":"user","content":"one two three four five six seven"}])";

/// Of "kv_transfer" in the state.
inline http::Task<double> count(Talker& talker, std::string key) {
  const Heard state = co_await talker.get("/emulator/state");
  simdjson::dom::parser parser;
  double value = -1;
  EXPECT_EQ(parser.parse(state.body)["kv_transfer"][key].get(value), simdjson::SUCCESS) << key << " in " << state.body;
  co_return value;
}

[[nodiscard]] inline std::string content_of(const std::string& body) {
  const auto from = body.find(R"("content":")") + 11;
  return body.substr(from, body.find('"', from) - from);
}

}  // namespace evenkeel::emulator
