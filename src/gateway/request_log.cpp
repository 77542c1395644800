#include "gateway/request_log.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "gateway/unix_time.hpp"
#include "workload/access_log.hpp"

namespace evenkeel::gateway {

namespace {

void count_hits(observe::ShardCounters& counters, const Request& request) {
  const std::int64_t expected = request.expected_hit->value();
  counters.expected_hit_tokens.add(static_cast<std::uint64_t>(expected));
  if (!request.cached_tokens) return;
  const std::int64_t told = request.cached_tokens->value();
  counters.judged_hit_tokens.add(static_cast<std::uint64_t>(expected));
  counters.told_hit_tokens.add(static_cast<std::uint64_t>(told));
  counters.hit_error_tokens.add(static_cast<std::uint64_t>(std::abs(told - expected)));
}

std::string_view peer_name(const RequestPeers& peers) { return peers.board.setting(*peers.from).name; }

}  // namespace

void log_request(Shard& shard, const Request& request) {
  observe::ShardCounters& counters = shard.counters;
  const Time now = shard.loop.now();
  const Duration total = now - request.arrived;
  counters.outcomes[static_cast<std::size_t>(request.outcome)].add();
  counters
      .status_classes[static_cast<std::size_t>(request.status >= 100 && request.status < 600 ? request.status / 100
                                                                                             : 0)]
      .add();
  counters.total.observe(total);
  if (request.attempts > 0) {
    counters.queue.observe(request.queued);
    if (request.first_byte) counters.first_byte.observe(*request.first_byte - request.arrived);
    counters.prompt_tokens.add(static_cast<std::uint64_t>(request.prompt_tokens.value()));
    counters.output_tokens.add(static_cast<std::uint64_t>(request.output_tokens.value()));
  }
  if (request.expected_hit) count_hits(counters, request);
  const Route route = request.endpoint.route;
  const bool probe =
      route == Route::health || route == Route::ready || route == Route::version || route == Route::metrics;
  if (shard.shared.access_log == nullptr || probe) return;

  workload::AccessLogRecord record;
  record.ts = unix_ms() - total / std::chrono::milliseconds(1);
  record.id = request.id;
  record.model = request.model_label;
  record.worker = request.worker;
  record.prefill_worker = request.prefill_worker;
  record.client = request.client_label;
  if (request.peers != nullptr && request.peers->from) record.from_peer = peer_name(*request.peers);
  record.endpoint = request.endpoint.label;
  record.stream = request.facts.stream;
  record.outcome = fleet::to_string(request.outcome);
  record.status = request.status;
  record.reason = request.fault;
  if (request.refusal) record.refusal = fleet::to_string(*request.refusal);
  record.prompt_tokens = request.prompt_tokens.value();
  record.prompt_tokens_from = request.prompt_from;
  record.output_tokens = request.output_tokens.value();
  record.output_tokens_from = request.output_from;
  record.queue_ms = to_millis(request.queued);
  if (request.prefills > 0) record.prefill_ms = to_millis(request.prefilling);
  if (request.first_byte) record.first_byte_ms = to_millis(*request.first_byte - request.arrived);
  record.total_ms = to_millis(total);
  record.bytes_in = static_cast<std::int64_t>(request.body_bytes);
  record.bytes_out = static_cast<std::int64_t>(request.bytes_out);
  char candidates[16];
  if (request.attempts > 0) {
    record.policy = request.receipt.policy;
    record.route_reason = request.receipt.reason;
    record.route = request.receipt.route;
    const auto end = fmt::format_to(candidates, "{}", request.receipt.candidates);
    record.candidates = std::string_view(candidates, static_cast<std::size_t>(end - candidates));
    record.scarcest = request.receipt.scarcest;
    if (!record.scarcest.empty()) record.headroom = request.receipt.left;
    if (request.receipt.signal_age >= Duration(0)) record.signal_age_ms = to_millis(request.receipt.signal_age);
  }
  if (request.expected_hit) record.expected_hit_tokens = request.expected_hit->value();
  if (request.cached_tokens) record.cached_tokens = request.cached_tokens->value();
  record.waited_ms = to_millis(request.queued);
  record.attempt = request.attempts;
  thread_local std::string line;
  line.clear();
  workload::append_access_log_line(line, record);
  shard.shared.access_log->append(line);
}

}  // namespace evenkeel::gateway
