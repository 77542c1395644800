#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/load.hpp"
#include "config/table.hpp"
#include "config/values.hpp"
#include "dispatch/dispatcher.hpp"

namespace evenkeel::config {
namespace {

template <class Owner>
void append_entries(std::string& out, std::span<const Setting<Owner>> settings, Owner& owner) {
  Owner defaults;
  for (const auto& setting : settings) {
    const std::string value = print(setting, owner);
    if (value != print(setting, defaults)) out += fmt::format("{} = {}\n", setting.key, value);
  }
}

std::string limit(Duration duration) { return duration.count() == 0 ? "off" : format_duration(duration); }

std::string timeouts_line(const Timeouts& t) {
  return fmt::format("connect {}, first byte {}, silence {}, total {}", limit(t.connect), limit(t.first_byte),
                     limit(t.silence), limit(t.total));
}

std::string overtaking(std::int64_t cap) {
  if (cap == 0) return "overtaken by any number";
  if (cap > 0) return fmt::format("overtaken by {}", cap);
  return fmt::format("overtaken as the policy bounds it, else by {}", dispatch::default_overtake_cap);
}

bool equal(const Timeouts& a, const Timeouts& b) {
  return a.connect == b.connect && a.first_byte == b.first_byte && a.silence == b.silence && a.total == b.total;
}

}  // namespace

std::string to_toml(const ServeSettings& settings) {
  ServeSettings all = settings;
  std::string out;
  std::string_view table;
  for (const auto& setting : serve_table()) {
    if (setting.table != table) {
      table = setting.table;
      out += fmt::format("\n[{}]\n", table);
    }
    out += fmt::format("{} = {}\n", setting.key, print(setting, all));
  }
  for (WorkerSetting& worker : all.workers) {
    out += "\n[[workers]]\n";
    append_entries(out, worker_table(), worker);
  }
  for (PeerSetting& peer : all.peers) {
    out += "\n[[peers]]\n";
    append_entries(out, peer_table(), peer);
  }
  for (ModelSetting& model : all.models) {
    out += "\n[[models]]\n";
    append_entries(out, model_table(), model);
    std::vector<std::string> timeouts;
    for (const auto& setting : timeout_table()) {
      timeouts.push_back(fmt::format("{} = {}", setting.key, print(setting, model.timeouts)));
    }
    out += fmt::format("timeouts = {{ {} }}\n", fmt::join(timeouts, ", "));
  }
  return out;
}

std::string describe_limits(const ServeSettings& s) {
  std::string out;
  out += fmt::format("timeouts      {}\n", timeouts_line(s.timeouts));
  for (const ModelSetting& model : s.models) {
    if (!equal(model.timeouts, s.timeouts))
      out += fmt::format("  of {}  {}\n", model.name, timeouts_line(model.timeouts));
  }
  out += fmt::format("clients       head {}, body between pieces {}, idle {}, connections {}\n",
                     limit(s.limits.head_timeout), limit(s.limits.body_timeout), limit(s.limits.idle),
                     s.limits.connections);
  out += fmt::format("sizes         head {}, body {}, kept for a retry {}\n", format_bytes(s.limits.head),
                     format_bytes(s.limits.body), format_bytes(s.limits.kept_body));
  out += fmt::format("waiting pool  {} requests, {}, {} each, {} without a routable worker, {}\n", s.pool.requests,
                     format_bytes(s.pool.bytes), format_duration(s.pool.timeout),
                     format_duration(s.pool.unroutable_wait), overtaking(s.pool.overtake_cap));
  out += fmt::format("in flight     {} a worker\n", s.max_in_flight == 0
                                                        ? "as its engine tells, else the default of its kind"
                                                        : fmt::format("{}", s.max_in_flight));
  out += s.prefix.bytes == Bytes(0)
             ? std::string("prefixes      not looked at\n")
             : fmt::format("prefixes      the first {} of a prompt, {} blocks, {} each\n", format_bytes(s.prefix.bytes),
                           s.prefix.blocks, format_duration(s.prefix.lifetime));
  out += s.retry.attempts == 1 ? std::string("retries       off\n")
                               : fmt::format("retries       {} attempts, {:g} % of requests, pause {} to {}\n",
                                             s.retry.attempts, s.retry.budget * 100, format_duration(s.retry.backoff),
                                             format_duration(s.retry.backoff_cap));
  out +=
      fmt::format("probes        every {}, {} each, out after {}, back after {}\n", format_duration(s.health.interval),
                  format_duration(s.health.timeout), s.health.fall, s.health.rise);
  out += s.health.breaker_faults == 0
             ? std::string("breaker       off\n")
             : fmt::format("breaker       after {} faults, {} to {}, at most {:g} % of the workers\n",
                           s.health.breaker_faults, format_duration(s.health.breaker_open),
                           format_duration(s.health.breaker_cap), s.health.ejection_cap * 100);
  out += fmt::format("heartbeat     {}\ndrain         {}\n", limit(s.heartbeat), format_duration(s.drain_timeout));
  return out;
}

}  // namespace evenkeel::config
