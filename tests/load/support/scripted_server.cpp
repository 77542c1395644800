#include "load/support/scripted_server.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace evenkeel::load {

using http::Fiber;
using http::Responder;
using http::ServerRequest;
using http::Task;

ScriptedServer::ScriptedServer() {
  auto opened = http::Server::open(loop_, *http::resolve("127.0.0.1", 0),
                                   [this](Fiber& fiber, const ServerRequest& request, Responder& responder) {
                                     return serve(fiber, request, responder, this);
                                   });
  EXPECT_TRUE(opened.has_value());
  server_ = std::move(*opened);
  thread_ = std::thread([this] { loop_.run(); });
}

void ScriptedServer::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

Task<void> ScriptedServer::gathered(Fiber& fiber) {
  const std::uint64_t mine = generation_;
  held_.push_back(&fiber);
  if (held_.size() == gather) {
    ++generation_;
    for (Fiber* other : held_) other->wake();
    held_.clear();
  }
  while (generation_ == mine) co_await fiber.wait();
}

namespace {

std::string text_of(const boost::json::object& body) {
  if (body.contains("prompt")) return std::string(body.at("prompt").as_string());
  return std::string(body.at("messages").at(0).at("content").as_string());
}

const std::string word = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" w\"}}]}\n\n";
const std::string error = R"({"error":{"message":"no room","code":429}})";
const std::string done = "data: [DONE]\n\n";

std::string usage(std::int64_t prompt, std::int64_t output) {
  return R"("usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" + std::to_string(output) +
         "}";
}

std::string stream_text(Act act, std::int64_t told, std::int64_t prompt_tokens) {
  std::string text = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
  const bool whole = act == Act::answer || act == Act::answer_no_usage;
  for (std::int64_t i = 0; i < (whole ? told : 2); ++i) text += word;
  if (act == Act::error_event) text += "data: " + error + "\n\n";
  if (act == Act::garbage_event) text += "data: {\"choi\n\n";
  if (act == Act::answer) text += "data: {\"choices\":[]," + usage(prompt_tokens, told) + "}\n\n";
  if (act != Act::no_done && act != Act::cut) text += done;
  return text;
}

}  // namespace

Task<void> ScriptedServer::serve(Fiber& fiber, const ServerRequest& request, Responder& responder,
                                 ScriptedServer* self) {
  if (request.path == "/v1/models") {
    (void)co_await responder.send(200, "application/json", R"({"data":[{"id":"tiny"},{"id":"big"}]})");
    co_return;
  }
  const std::int64_t told = std::stoll(std::string(request.field("X-Emulate-Output-Tokens").value_or("0")));
  self->seen.push_back(
      {told, request.path, request.body, std::string(request.field("X-Session-Id").value_or("")), request.peer});
  self->log.emplace_back('b', told);
  self->most_inside = std::max(self->most_inside, ++self->inside_);
  co_await self->gathered(fiber);
  const auto body = boost::json::parse(request.body).as_object();
  const std::string text = text_of(body);
  const auto words = std::count(text.begin(), text.end(), ' ') + 1;
  const auto found = self->acts.find(told);
  Act act = found == self->acts.end() ? Act::answer : found->second;
  const bool kept = !self->peers_.insert(request.peer).second;
  if (act == Act::vanish_if_kept) act = kept ? Act::vanish : Act::answer;
  // Booked before the last byte leaves: the client may act on it at once.
  --self->inside_;
  self->log.emplace_back('e', told);
  co_await play(fiber, responder, act, body.contains("stream"), told, words);
}

Task<void> ScriptedServer::play(Fiber& fiber, Responder& responder, Act act, bool streamed, std::int64_t told,
                                std::int64_t prompt_tokens) {
  http::Fields receipt{{"X-Evenkeel-Worker", told % 2 == 0 ? "even" : "odd"},
                       {"X-Evenkeel-Policy", "scripted"},
                       {"X-Evenkeel-Waited-Ms", "2.5"}};
  http::Fields refusal{{"X-Evenkeel-Refusal", "pool_full"}};
  switch (act) {
    case Act::refuse_429: (void)co_await responder.send(429, "application/json", error, std::move(refusal)); co_return;
    case Act::refuse_503: (void)co_await responder.send(503, "text/plain", "down"); co_return;
    case Act::refuse_400: (void)co_await responder.send(400, "application/json", error); co_return;
    case Act::web_page: (void)co_await responder.send(200, "text/html", "<html></html>"); co_return;
    case Act::vanish: responder.abort(); co_return;
    case Act::stall:
      while (!responder.client_gone()) co_await fiber.wait();
      co_return;
    default: break;
  }
  if (!streamed) {
    (void)co_await responder.send(200, "application/json", "{\"choices\":[{}]," + usage(prompt_tokens, told) + "}",
                                  std::move(receipt));
    co_return;
  }
  (void)co_await responder.begin_stream(200, "text/event-stream; charset=utf-8", std::move(receipt));
  const std::string text = stream_text(act, told, prompt_tokens);
  // In pieces that cut events anywhere: framing must not depend on the reads. At most 50 of them, because a
  // loop of writes that never wait deepens the stack where calls in tail position are not optimised
  // (sanitizers).
  const std::size_t piece = std::max<std::size_t>(37, text.size() / 50 + 1);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    (void)co_await responder.write(std::string_view(text).substr(at, piece));
  }
  if (act == Act::cut) {
    responder.abort();
  } else {
    (void)co_await responder.end_stream();
  }
}

}  // namespace evenkeel::load
