#include "load/attempt.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::load {

namespace {

using http::ClientExchange;
using http::ClientStatus;
using http::Fiber;
using http::Task;

constexpr std::size_t longest_plain_answer = 64U << 20U;
constexpr std::size_t longest_error_body = 64U << 10U;
constexpr std::size_t longest_name = 256;
/// What a server may take to end a body whose content is already complete, before its connection is given up.
constexpr Duration body_end_grace = std::chrono::seconds(1);

void settle(Attempt& attempt, Ending ending, std::string trouble, Time now) {
  attempt.record->ending = ending;
  attempt.record->ended = attempt.since_start(now);
  if (ending != Ending::completed) attempt.trouble = std::move(trouble);
}

/// An exchange that went wrong below HTTP. `body`: the head had come.
void settle_broken(Attempt& attempt, ClientStatus status, bool body, Time now) {
  std::string words(to_string(status));
  switch (status) {
    case ClientStatus::connect_failed: return settle(attempt, Ending::connect, std::move(words), now);
    case ClientStatus::timed_out: return settle(attempt, Ending::timeout, std::move(words), now);
    case ClientStatus::malformed:
    case ClientStatus::too_large: return settle(attempt, Ending::malformed, std::move(words), now);
    default: return settle(attempt, body ? Ending::truncated : Ending::no_answer, std::move(words), now);
  }
}

void read_receipt(const ClientExchange& exchange, Attempt& attempt) {
  const auto text = [&](std::string_view name) {
    auto value = exchange.field(name).value_or("");
    if (value.size() > longest_name) value.resize(longest_name);
    return value;
  };
  attempt.receipt = {text("X-Evenkeel-Worker"), text("X-Evenkeel-Policy"), text("X-Evenkeel-Refusal")};
  const auto waited = parse_double(text("X-Evenkeel-Waited-Ms"));
  if (waited && *waited >= 0) attempt.record->router_wait_ms = static_cast<float>(*waited);
}

void count_tokens(const AnswerFacts& facts, RequestRecord& record) {
  record.first_content = facts.first_content;
  record.last_content = facts.last_content;
  record.prompt = facts.usage_prompt ? Tokens(*facts.usage_prompt) : record.trace_prompt;
  if (facts.usage_output) {
    record.output = Tokens(*facts.usage_output);
    record.counted_by = CountedBy::usage;
  } else if (facts.content_events > 0) {
    record.output = Tokens(facts.content_events);
    record.counted_by = CountedBy::events;
  }
}

/// Reads on to the end of the body, so that the connection can serve again.
Task<void> drain(Fiber& fiber, ClientExchange& exchange) {
  fiber.set_deadline(std::min(fiber.deadline(), fiber.loop().now() + body_end_grace));
  while (true) {
    const auto [status, bytes] = co_await exchange.next();
    if (status != ClientStatus::ok || bytes.empty()) break;
  }
}

/// The body as far as `limit`; the status tells whether it is whole.
Task<std::pair<ClientStatus, std::string>> read_whole(ClientExchange& exchange, std::size_t limit) {
  std::pair<ClientStatus, std::string> whole{ClientStatus::ok, {}};
  while (true) {
    const auto [status, bytes] = co_await exchange.next();
    whole.first = status;
    if (status != ClientStatus::ok || bytes.empty()) break;
    if (whole.second.size() + bytes.size() > limit) {
      whole.first = ClientStatus::too_large;
      break;
    }
    whole.second += bytes;
  }
  co_return whole;
}

Task<void> read_refusal(Fiber& fiber, ClientExchange& exchange, Attempt& attempt) {
  const auto [status, body] = co_await read_whole(exchange, longest_error_body);
  if (status == ClientStatus::timed_out) {
    settle_broken(attempt, status, true, fiber.loop().now());
    co_return;
  }
  settle(attempt, Ending::status, fmt::format("{}: {}", exchange.status(), error_words(attempt.client.json, body)),
         fiber.loop().now());
}

Task<void> read_plain(Fiber& fiber, ClientExchange& exchange, Attempt& attempt) {
  const auto [status, body] = co_await read_whole(exchange, longest_plain_answer);
  const Time now = fiber.loop().now();
  if (status != ClientStatus::ok) {
    settle_broken(attempt, status, true, now);
    co_return;
  }
  AnswerFacts facts;
  const Ending ending = read_plain_answer(attempt.client.json, body, facts);
  count_tokens(facts, *attempt.record);
  settle(attempt, ending, std::move(facts.trouble), now);
}

Task<void> read_stream(Fiber& fiber, ClientExchange& exchange, Attempt& attempt) {
  const auto type = exchange.field("Content-Type");
  if (type && !type->starts_with("text/event-stream")) {
    settle(attempt, Ending::malformed, "asked for a stream, got " + type->substr(0, 100), fiber.loop().now());
    co_return;
  }
  StreamedAnswer answer(attempt.client.json, attempt.gaps_ms);
  while (true) {
    const auto [status, bytes] = co_await exchange.next();
    const Time now = fiber.loop().now();
    const bool more = status == ClientStatus::ok && !bytes.empty() && answer.feed(bytes, attempt.since_start(now));
    if (attempt.on_content) attempt.on_content(answer.facts().content_events);
    if (more) continue;
    const Ending ending = answer.end(status != ClientStatus::ok, attempt.since_start(now));
    count_tokens(answer.facts(), *attempt.record);
    if (ending == Ending::truncated && status != ClientStatus::ok && status != ClientStatus::broken) {
      settle_broken(attempt, status, true, now);  // it did not break off by itself
    } else {
      settle(attempt, ending, std::move(answer.facts().trouble), now);
    }
    if (status == ClientStatus::ok && !bytes.empty() && ending != Ending::malformed) co_await drain(fiber, exchange);
    co_return;
  }
}

/// False if the connection was a dead one that another should replace.
Task<bool> try_once(Fiber& fiber, Attempt& attempt) {
  ClientExchange exchange(fiber, attempt.client.to, &attempt.client.pool);
  ClientStatus status = co_await exchange.send(attempt.request);
  if (status == ClientStatus::ok) status = co_await exchange.read_head();
  if (status == ClientStatus::broken && exchange.reused() && !attempt.reconnected) co_return false;
  if (status != ClientStatus::ok) {
    settle_broken(attempt, status, false, fiber.loop().now());
    co_return true;
  }
  attempt.record->status = exchange.status();
  read_receipt(exchange, attempt);
  if (exchange.status() != 200) {
    co_await read_refusal(fiber, exchange, attempt);
  } else if (attempt.stream) {
    co_await read_stream(fiber, exchange, attempt);
  } else {
    co_await read_plain(fiber, exchange, attempt);
  }
  co_return true;
}

}  // namespace

Task<void> run_attempt(Fiber& fiber, Attempt& attempt) {
  RequestRecord& record = *attempt.record;
  // The turn may be long since begun: texts of other requests were made in it.
  record.sent = attempt.since_start(fiber.loop().refresh_now());
  record.prompt = record.trace_prompt;
  const bool settled = co_await try_once(fiber, attempt);
  if (settled) co_return;
  attempt.reconnected = true;
  attempt.client.pool.clear();  // its neighbours were as idle
  (void)co_await try_once(fiber, attempt);
}

}  // namespace evenkeel::load
