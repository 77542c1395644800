#include "gateway/connection.hpp"

#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "gateway/exchange.hpp"
#include "gateway/intake.hpp"
#include "gateway/local_answers.hpp"
#include "gateway/request_log.hpp"

namespace evenkeel::gateway {

namespace {

/// Counts a connection or a request in and out, whatever ends it.
class Presence {
 public:
  Presence(std::atomic<std::int64_t>& all, observe::Cell& here) : all_(all), here_(here) {
    all_.fetch_add(1, std::memory_order_relaxed);
    here_.add();
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence() {
    all_.fetch_sub(1, std::memory_order_relaxed);
    here_.subtract();
  }

 private:
  std::atomic<std::int64_t>& all_;
  observe::Cell& here_;
};

class Connection {
 public:
  Connection(Shard& shard, http::Fiber& fiber, http::Stream stream, const http::Address& peer)
      : shard_(shard),
        client_(fiber, std::move(stream), peer, shard.shared.settings.client_fin_cancels, shard.spares),
        parser_(http::MessageParser::Direction::request,
                {.bytes = static_cast<std::size_t>(shard.shared.settings.limits.head.value())}),
        intake_(shard, client_, parser_) {}

  http::Task<void> run() {
    Presence here(shard_.shared.connections, shard_.counters.connections_open);
    shard_.counters.connections_ever.add();
    while (client_.stream.is_open()) {
      const bool go_on = co_await serve_one();
      if (!go_on) break;
      intake_.discard();
      parser_.next();
    }
    co_await linger();
  }

 private:
  http::Task<bool> serve_one();
  std::optional<http::Task<void>> find_way(Exchange& exchange, Request& request);
  http::Task<bool> flush();
  http::Task<void> linger();
  [[nodiscard]] bool head_is_fit(Request& request);
  void refuse(Request& request);

  Shard& shard_;
  ClientSide client_;
  http::MessageParser parser_;
  Intake intake_;
};

http::Task<bool> Connection::serve_one() {
  Request request;
  Intake::Status status = co_await intake_.read_head(request);
  if (status == Intake::Status::closed) co_return false;
  if (request.arrived == Time{}) request.arrived = shard_.loop.now();
  Presence at_work(shard_.shared.requests, shard_.counters.requests_open);
  shard_.counters.requests_begun.add();
  if (status == Intake::Status::request && head_is_fit(request)) {
    if (const auto at_hand = intake_.body_at_hand(request)) {
      status = *at_hand;
    } else {
      status = co_await intake_.read_body(request);
    }
    client_.fiber.clear_deadline();
    if (status == Intake::Status::closed) {
      request.fault = "client_gone";
      log_request(shard_, request);
      co_return false;
    }
    if (status == Intake::Status::request) status = intake_.understand(request);
    if (status == Intake::Status::request) {
      Exchange exchange(shard_, client_, request);
      if (auto way = find_way(exchange, request)) co_await std::move(*way);
    } else {
      refuse(request);
    }
  } else if (status == Intake::Status::refused) {
    refuse(request);
  }
  client_.fiber.clear_deadline();
  bool delivered = client_.stream.is_open() && !client_.stream.broken();
  if (!client_.outbox.clear()) delivered = co_await flush();
  if (!delivered && request.outcome == fleet::Outcome::completed && request.attempts == 0)
    request.outcome = fleet::Outcome::cancelled;
  log_request(shard_, request);
  shard_.spares.give(request.id);
  shard_.spares.give(request.body);
  shard_.spares.give(request.prefix);
  co_return delivered&& client_.keep_alive && !shard_.draining && client_.body == nullptr;
}

bool Connection::head_is_fit(Request& request) {
  std::size_t hosts = 0;
  for (const http::Field& field : request.head->fields) {
    if (field.known == http::FieldName::host) ++hosts;
  }
  const bool fit = hosts == 1 || (hosts == 0 && request.http10);
  if (fit && !request.target.empty() && (request.target.front() == '/' || request.target == "*")) return true;
  request.outcome = fleet::Outcome::client_fault;
  request.fault = "malformed_request";
  client_.keep_alive = false;
  ApiError error;
  error.status = 400;
  error.type = "invalid_request_error";
  error.code = "malformed_request";
  error.message = fit ? "The request target must be a path." : "An HTTP/1.1 request carries exactly one Host field.";
  answer_error(shard_, client_, request, error);
  return false;
}

void Connection::refuse(Request& request) {
  const ApiError& error = intake_.error();
  request.outcome =
      error.status >= 500 && error.status != 501 ? fleet::Outcome::transport_fault : fleet::Outcome::client_fault;
  request.fault = error.code;
  if (intake_.must_close()) client_.keep_alive = false;
  if (error.status == 503) {
    request.refusal = fleet::Refusal::no_worker;
    answer_error(shard_, client_, request, error,
                 "Retry-After: 1\r\nretry-after-ms: 1000\r\nX-Evenkeel-Refusal: no_worker\r\n");
    return;
  }
  answer_error(shard_, client_, request, error);
}

/// How the request goes on, or nothing if it was answered here.
std::optional<http::Task<void>> Connection::find_way(Exchange& exchange, Request& request) {
  if (answer_locally(shard_, client_, request)) return std::nullopt;
  const FleetMap& fleet = *shard_.fleet;
  const bool has_model = request.model_label != "unknown";
  if (request.endpoint.route == Route::response_id) {
    const auto owner = shard_.shared.responses.find(request.endpoint.id);
    const Upstream* upstream = owner ? fleet.upstream(*owner).get() : nullptr;
    if (upstream == nullptr) upstream = fleet.of_only_engine(shard_.random.next());
    if (upstream != nullptr) return exchange.run_at(shard_.fleet, *upstream);
    answer_not_found(shard_, client_, request,
                     fmt::format("No response with the id \"{}\" was seen here.", request.endpoint.id));
    return std::nullopt;
  }
  if (has_model) return exchange.run();
  if (const Upstream* only = fleet.of_only_engine(shard_.random.next())) {
    request.timeouts = shard_.shared.settings.timeouts;
    return exchange.run_at(shard_.fleet, *only);
  }
  answer_not_found(
      shard_, client_, request,
      fmt::format("{} names no model in its body, and there is more than one worker it could mean.", request.path));
  return std::nullopt;
}

http::Task<bool> Connection::flush() {
  // The rest of an answer that the client was too slow to take. Its deadline is that of silence.
  client_.fiber.set_deadline(deadline_after(shard_.loop.now(), shard_.shared.settings.limits.idle));
  while (!client_.outbox.clear()) {
    if (!client_.outbox.flush() || client_.stream.broken() || client_.fiber.deadline_passed()) co_return false;
    if (client_.outbox.clear()) break;
    co_await client_.fiber.wait();
  }
  client_.fiber.clear_deadline();
  co_return client_.stream.is_open() && !client_.stream.broken();
}

http::Task<void> Connection::linger() {
  // Closing with bytes unread would reset the connection and may take our last words with it: say that nothing
  // more comes, and read what is still under way for a moment.
  if (!client_.stream.is_open() || client_.stream.broken() || client_.stream.peer_closed()) co_return;
  client_.stream.finish_sending();
  client_.fiber.set_deadline(shard_.loop.now() + std::chrono::seconds(2));
  std::size_t budget = 1U << 20U;
  while (budget > 0 && !client_.fiber.deadline_passed()) {
    const auto got = client_.stream.try_read(http::scratch_buffer());
    if (got.status == http::IoStatus::would_block) {
      co_await client_.fiber.wait();
      continue;
    }
    if (got.status != http::IoStatus::ok) co_return;
    budget -= std::min(budget, got.bytes);
  }
}

}  // namespace

http::Task<void> serve_connection(http::Fiber& fiber, std::reference_wrapper<Shard> shard, http::Stream stream,
                                  http::Address peer) {
  // A fault of ours in one connection (memory, say) ends that connection: its leases end, its client sees it break.
  try {
    Connection connection(shard.get(), fiber, std::move(stream), peer);
    co_await connection.run();
  } catch (const std::exception& fault) {
    spdlog::error("a connection from {} was dropped: {}", peer.text(), fault.what());
  }
}

}  // namespace evenkeel::gateway
