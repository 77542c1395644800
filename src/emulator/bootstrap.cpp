#include "emulator/bootstrap.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::emulator {

using http::Fiber;
using http::Task;

namespace {

constexpr std::string_view json_type = "application/json";
/// A room that only the decode side ever entered is cleaned up after so long (SGLang).
constexpr Duration orphan_age = std::chrono::seconds(120);

}  // namespace

Bootstrap::Bootstrap(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine, const KvOptions& options, Peer self)
    : loop_(loop), engine_(std::move(engine)), options_(options), self_(std::move(self)) {}

std::unique_ptr<Bootstrap::Leg> Bootstrap::enter(const BootstrapParams& params, Fiber& fiber) {
  sweep();
  const bool prefill = options_.role == Role::prefill;
  Room& room = rooms_[params.room];
  if (room.leg != nullptr || options_.role == Role::both) {
    ++counters_.clashes;
    if (room.leg == nullptr) rooms_.erase(params.room);
    return nullptr;
  }
  room.leg = &fiber;
  room.since = engine_->now();
  return std::make_unique<Leg>(shared_from_this(), params, prefill);
}

void Bootstrap::sweep() {
  const Time now = engine_->now();
  std::erase_if(
      rooms_, [&](const auto& entry) { return entry.second.leg == nullptr && now - entry.second.since > orphan_age; });
}

void Bootstrap::leave(Leg& leg) {
  const auto found = rooms_.find(leg.params_.room);
  const std::optional<Peer> decode = found->second.decode;
  const bool left = found->second.left;
  rooms_.erase(found);
  ++(leg.whole_ ? counters_.whole : counters_.failed);
  if (leg.whole_ || left || closed_) return;
  const std::string room = fmt::format(R"({{"room":{})", leg.params_.room);
  if (!leg.prefill_) {
    if (leg.told_) loop_.spawn(tell, leg.params_.prefill, "/kv/room/leave", room + "}");
    return;
  }
  constexpr std::size_t remembered = 4096;
  if (broken_.insert(leg.params_.room).second) broken_order_.push_back(leg.params_.room);
  if (broken_order_.size() > remembered) {
    broken_.erase(broken_order_.front());
    broken_order_.pop_front();
  }
  if (decode) loop_.spawn(tell, *decode, "/kv/room/done", room + R"(,"whole":false})");
}

Task<void> Bootstrap::tell(Fiber& fiber, Peer peer, std::string path, std::string body) {
  (void)co_await tell_peer(fiber, std::move(peer), std::move(path), std::move(body));
}

// --- prefill side ------------------------------------------------------------------------------------------------

Task<Bootstrap::Meeting> Bootstrap::await_decode(Fiber& fiber, Leg& leg, http::Responder& responder) {
  const Time until = engine_->now() + options_.bootstrap_timeout;
  while (true) {
    const Room& room = rooms_.at(leg.params_.room);
    if (responder.client_gone()) co_return Meeting::client_gone;
    if (room.left || engine_->now() >= until) co_return Meeting::failed;
    if (room.decode) co_return Meeting::met;
    fiber.set_deadline(engine_->real_time_of(until));
    co_await fiber.wait();
    fiber.clear_deadline();
  }
}

bool Bootstrap::abandoned(const Leg& leg) const { return rooms_.at(leg.params_.room).left; }

Task<void> Bootstrap::hand_over(Fiber& fiber, Leg& leg, Tokens tokens) {
  co_await engine_->wait_until(fiber, engine_->now() + options_.setup + options_.per_token * tokens.value());
  const Room room = rooms_.at(leg.params_.room);
  if (room.left) co_return;
  const std::string body = fmt::format(R"({{"room":{},"whole":true}})", leg.params_.room);
  const auto answer = co_await tell_peer(fiber, *room.decode, "/kv/room/done", body);
  leg.whole_ = answer.has_value();
}

// --- decode side -------------------------------------------------------------------------------------------------

Task<Bootstrap::Meeting> Bootstrap::await_prefill(Fiber& fiber, Leg& leg, http::Responder& responder) {
  const Time until = engine_->now() + options_.bootstrap_timeout;
  std::string body = fmt::format(R"({{"room":{},"host":)", leg.params_.room);
  append_json_string(body, self_.host);
  body += fmt::format(R"(,"port":{}}})", self_.port);
  leg.told_ = true;
  const auto answer = co_await tell_peer(fiber, leg.params_.prefill, "/kv/room/meet", std::move(body));
  if (!answer) co_return Meeting::failed;
  while (true) {
    const Room& room = rooms_.at(leg.params_.room);
    if (room.done) {
      leg.whole_ = true;
      co_return Meeting::met;
    }
    if (responder.client_gone()) co_return Meeting::client_gone;
    if (room.left || engine_->now() >= until) co_return Meeting::failed;
    fiber.set_deadline(engine_->real_time_of(until));
    co_await fiber.wait();
    fiber.clear_deadline();
  }
}

// --- what the other side says ------------------------------------------------------------------------------------

Task<void> Bootstrap::serve(const http::ServerRequest& request, http::Responder& responder) {
  simdjson::dom::parser parser;
  auto body = JsonBody::parse(parser, request.body);
  const auto number = body ? body->whole("room", 0, last_room) : std::nullopt;
  int status = 200;
  if (!number) {
    status = 400;
  } else if (request.path == "/kv/room/meet") {
    const std::string host(body->text("host").value_or(""));
    const auto port = body->whole("port", 1, 65535);
    if (host.empty() || !port) {
      status = 400;
    } else if (broken_.contains(*number)) {
      status = 410;
    } else {
      Room& room = rooms_[*number];
      room.decode = Peer{host, static_cast<std::uint16_t>(*port)};
      if (room.leg == nullptr) room.since = engine_->now();
      if (room.leg != nullptr) room.leg->wake();
    }
  } else if (request.path == "/kv/room/leave" || request.path == "/kv/room/done") {
    const auto found = rooms_.find(*number);
    const bool whole = request.path == "/kv/room/done" && body->flag("whole");
    if (found == rooms_.end()) {
      status = 404;
    } else if (found->second.leg == nullptr) {
      rooms_.erase(found);  // came and went before the prefill leg
    } else {
      (whole ? found->second.done : found->second.left) = true;
      found->second.leg->wake();
    }
  } else {
    status = 404;
  }
  (void)co_await responder.send(status, json_type, "{}");
}

}  // namespace evenkeel::emulator
