// Engines and their workers: which ranks there are, what each reports, whether the engine minds them.
#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "gateway/fleet_control.hpp"

namespace evenkeel::gateway {

namespace {

/// Ranks that can be addressed by counting from the first: one that is missing in between would shift all others.
std::size_t addressable(const std::vector<engines::RankReport>& told) {
  if (told.size() < 2) return 1;
  return told.back().number - told.front().number == told.size() - 1 ? told.size() : 1;
}

}  // namespace

void FleetControl::find_address(Engine& engine) {
  // A name that is not there yet is an engine that is not there yet: it is asked for again before each probe.
  const auto address = http::resolve(engine.url.host, engine.url.port);
  if (address) {
    engine.address = *address;
  } else {
    engine.last_error = address.error().message;
  }
}

std::string FleetControl::group_of(const Engine& engine, bool ranked) const {
  if (engine.ignores_rank) return "";                  // several ranks in one worker make no step with anybody
  if (engine.role == fleet::Role::prefill) return "";  // what takes one step has no pace to keep
  if (!engine.setting.group.empty()) return engine.setting.group;
  return ranked && engine.setting.sync && settings_.sync ? engine.name : "";
}

std::shared_ptr<const Upstream> FleetControl::upstream_of(const Engine& engine, const Worker& worker) const {
  auto upstream = std::make_shared<Upstream>();
  upstream->id = worker.id;
  upstream->name = worker.name;
  upstream->engine = engine.number;
  upstream->address = engine.address;
  upstream->authority = engine.url.authority();
  upstream->base_path = engine.url.base_path;
  upstream->authorization = engine.authorization;
  upstream->adapter = engine.adapter;
  upstream->bootstrap = {engine.url.host, engine.bootstrap_port};
  upstream->kv_feed = worker.kv_feed;
  if (!worker.rank) return upstream;
  upstream->rank_field = fmt::format("{}: {}\r\n", engine.adapter->rank_field(), *worker.rank);
  upstream->rank = *worker.rank;
  upstream->ranks = static_cast<std::uint32_t>(engine.ranks);
  return upstream;
}

void FleetControl::renew_upstreams(Engine& engine) {
  for (Worker& worker : engine.workers) worker.upstream = upstream_of(engine, worker);
  rebuild_map();
}

void FleetControl::follow_kv_events(Engine& engine) {
  if (engine.setting.kv_events.empty() || engine.ranks == 0) return;
  if (engine.ranks > 1 && !engine.workers.front().rank) {
    Worker& only = engine.workers.front();
    if (!only.complaint.empty()) return;
    only.complaint = fmt::format("its {} ranks have a prefix cache each and are one worker: kv_events are not followed",
                                 engine.ranks);
    spdlog::warn("worker {}: {}; what they hold is guessed", only.name, only.complaint);
    return;
  }
  bool any = false;
  for (Worker& worker : engine.workers) {
    if (worker.kv_feed || !worker.complaint.empty()) continue;
    const std::uint32_t rank = worker.rank.value_or(0);
    const auto events = kv_endpoint_of_rank(engine.setting.kv_events, rank);
    const auto replay =
        kv_endpoint_of_rank(engine.setting.kv_events_replay, engine.setting.kv_events_replay.empty() ? 0 : rank);
    const auto feed =
        !events   ? tl::unexpected(events.error())
        : !replay ? tl::unexpected(replay.error())
                  : kv_events_.follow(worker.id, *events, *replay, static_cast<std::size_t>(settings_.kv_event_blocks));
    if (!feed) {
      worker.complaint = feed.error().message;
      spdlog::error("worker {}: {}; what its prefix cache holds is guessed", worker.name, worker.complaint);
      continue;
    }
    worker.kv_feed = *feed;
    any = true;
    spdlog::info("worker {} tells of its prefix cache at {}", worker.name, *events);
  }
  if (any) renew_upstreams(engine);
}

void FleetControl::leave_kv_events(const Worker& worker) {
  if (worker.kv_feed) kv_events_.leave(worker.id);
}

void FleetControl::note_mute(Worker& worker, std::uint64_t begun) const {
  constexpr std::uint64_t most_begun = 64;  // requests, of which some have filled a block
  constexpr int most_probes = 2;            // since then: what they stored may be on its way
  if (worker.kv_feed->status(loop_.now()).batches > 0) {
    if (worker.mute_probes > most_probes) worker.complaint.clear();
    worker.mute_probes = 0;
    return;
  }
  if (begun < most_begun || worker.mute_probes > most_probes || ++worker.mute_probes <= most_probes) return;
  worker.complaint = fmt::format("has told nothing of its prefix cache though {} requests went to it", begun);
  spdlog::warn("worker {} {}: see whether it publishes where kv_events says; what it holds is guessed", worker.name,
               worker.complaint);
}

void FleetControl::note_served(Engine& engine) {
  if (engine.setting.kv_events.empty()) return;
  const auto books = dispatcher_.workers();
  for (Worker& worker : engine.workers) {
    if (!worker.kv_feed) continue;
    const dispatch::WorkerStatus& status = books.at(worker.id.value);
    note_mute(worker, status.leases_begun);
    worker.kv_feed->served({.tokens = static_cast<std::uint64_t>(std::max<std::int64_t>(status.generated_ever, 0)),
                            .begun = status.leases_begun,
                            .open = static_cast<std::uint64_t>(std::max<std::int64_t>(status.load.in_flight, 0))},
                           loop_.now());
  }
}

FleetControl::Worker FleetControl::make_worker(Engine& engine, std::optional<std::uint32_t> rank) {
  const std::int64_t given = engine.setting.max_in_flight > 0 ? engine.setting.max_in_flight : settings_.max_in_flight;
  std::int64_t limit = given > 0 ? given : engine.adapter->default_max_in_flight();
  if (!rank && engine.ignores_rank) limit *= static_cast<std::int64_t>(engine.ranks);  // it was meant for each
  const std::int64_t own = engine.setting.prefix_cache_tokens;
  Worker worker{.rank = rank,
                .name = rank ? fmt::format("{}@{}", engine.name, *rank) : engine.name,
                .limit = {limit, given > 0},
                .cache = CacheWatch(own >= 0 ? own : settings_.prefix.cache_tokens)};
  std::vector<ModelId> models;
  for (const auto& model : engine.models) models.push_back(dispatched_id(engine, model));
  dispatch::WorkerSpec spec;
  spec.name = worker.name;
  spec.models = std::move(models);
  spec.max_in_flight = limit;
  spec.group = group_of(engine, rank.has_value());
  spec.role = engine.role;
  worker.id = dispatcher_.add_worker(std::move(spec));
  worker.refusals = marks_.refusals(worker.id);
  worker.upstream = upstream_of(engine, worker);
  if (places_.size() <= worker.id.value) places_.resize(worker.id.value + 1);
  places_[worker.id.value] = {engines_[engine.number], rank};
  return worker;
}

void FleetControl::apply_ranks(Engine& engine) {
  if (engine.ranks == 0 && !engine.workers.empty()) return;  // not known: as it was
  const bool ranked = engine.ranks > 1 && !engine.ignores_rank && !engine.adapter->rank_field().empty();
  RankNumbers wanted;
  for (std::uint32_t rank = 0; ranked && rank < engine.ranks; ++rank) {
    if (!engine.dropped.contains(rank)) wanted.emplace_back(rank);
  }
  if (wanted.empty()) wanted.emplace_back();
  const auto is = [](const Worker& worker, const std::optional<std::uint32_t>& rank) { return worker.rank == rank; };
  if (std::equal(engine.workers.begin(), engine.workers.end(), wanted.begin(), wanted.end(), is)) return;
  replace_workers(engine, wanted);
  engine.judge = RankJudge();
  engine.rank_honoured = engine.ignores_rank ? std::optional(false) : std::nullopt;
  if (ranked) {
    const std::string group = group_of(engine, true);
    spdlog::info("worker {} has {} data-parallel ranks, each a worker: {} to {}; {}", engine.name, engine.ranks,
                 engine.workers.front().name, engine.workers.back().name,
                 group.empty() ? "they step on their own" : fmt::format("sync group {}", group));
  }
  if (engine.ranks > 1 && !engine.adapter->rank_field().empty()) {
    marks_.note(engine.name, {engine.ranks, engine.rank_honoured});
  } else {
    marks_.forget(engine.name);
  }
}

void FleetControl::replace_workers(Engine& engine, const RankNumbers& wanted) {
  std::vector<Worker> before = std::move(engine.workers);
  engine.workers.clear();
  std::vector<WorkerId> added;
  for (const auto& rank : wanted) {
    const auto kept = std::find_if(before.begin(), before.end(), [&](const Worker& w) { return w.rank == rank; });
    if (kept == before.end()) {
      engine.workers.push_back(make_worker(engine, rank));
      added.push_back(engine.workers.back().id);
    } else {
      engine.workers.push_back(*kept);
    }
  }
  // What is known of the engine passes on from a worker that it had.
  std::optional<WorkerId> beside;
  if (!before.empty()) beside = before.front().id;
  for (Worker& worker : before) {
    if (std::find(wanted.begin(), wanted.end(), worker.rank) != wanted.end()) continue;
    breakers_.set_draining(worker.id, true);
    drop_cache(worker);
    leave_kv_events(worker);
  }
  rebuild_map();  // shards must know a worker before it can be given to them
  for (const WorkerId id : added) {
    breakers_.add(id, beside, engine.role);
    beside = beside.value_or(id);
    if (engine.draining) breakers_.set_draining(id, false);
  }
}

void FleetControl::count_ranks(Engine& engine, const std::vector<engines::RankReport>& told) {
  const std::size_t seen = addressable(told);
  if (engine.ranks_declared) {
    if (seen > 1 && engine.ranks > 1 && seen != engine.ranks && engine.other_ranks != seen) {
      spdlog::warn("worker {} was given {} ranks and tells of {}: correct its `ranks`, or leave it out", engine.name,
                   engine.ranks, seen);
      engine.other_ranks = seen;
    }
    return;
  }
  if (engine.ranks == 0) {
    engine.ranks = seen;
  } else if (seen == engine.ranks) {
    engine.other_ranks = 0;
  } else if (engine.other_ranks == seen) {  // twice in a row: it is another engine now
    engine.ranks = seen;
    engine.other_ranks = 0;
    engine.ignores_rank = false;
    engine.dropped.clear();
  } else {
    engine.other_ranks = seen;
  }
}

void FleetControl::take_reading(Engine& engine, const engines::Reading& reading, Time asked, Time received) {
  if (reading.whole.any() || !reading.ranks.empty()) count_ranks(engine, reading.ranks);
  apply_ranks(engine);
  if (!engine.workers.front().rank) {
    engines::Report whole = reading.whole;
    if (reading.ranks.size() > 1) whole.prefix_caching = false;  // each has its own, and the engine chooses among them
    return take_report(engine, engine.workers.front(), whole, asked, received);
  }
  std::vector<const engines::Report*> reports(engine.ranks, nullptr);
  for (const auto& [number, report] : reading.ranks) {
    const std::size_t rank = number - reading.ranks.front().number;
    if (rank < reports.size()) reports[rank] = &report;
  }
  for (Worker& worker : engine.workers) {
    if (const engines::Report* report = reports[*worker.rank]) take_report(engine, worker, *report, asked, received);
  }
  note_refusals(engine);
  judge_ranks(engine, reports, asked, received);
}

void FleetControl::follow_cache(const Engine& engine, Worker& worker, const engines::Report& report) {
  if (settings_.prefix.bytes == Bytes(0) || !dispatcher_.wants_hits(engine.role)) return;
  if (worker.cache.see(report) && worker.cache_blocks > 0) {
    dispatcher_.forget_prefixes(worker.id);
    spdlog::info("worker {} was started anew: its prefix cache is taken to be empty", worker.name);
  }
  const std::size_t blocks = worker.cache.blocks(dispatcher_.prefixes(worker.id).block_tokens);
  if (blocks == worker.cache_blocks) return;
  dispatcher_.set_prefix_cache(worker.id, blocks);
  const bool joins = (worker.cache_blocks == 0) != (blocks == 0);
  worker.cache_blocks = blocks;
  if (joins) rebuild_map();
}

void FleetControl::drop_cache(Worker& worker) {
  if (worker.cache_blocks > 0) dispatcher_.set_prefix_cache(worker.id, 0);
  worker.cache_blocks = 0;
}

void FleetControl::take_report(const Engine& engine, Worker& worker, const engines::Report& report, Time asked,
                               Time received) {
  follow_cache(engine, worker, report);
  bool preempted = false;
  if (worker.limit.learn(report, preempted)) dispatcher_.set_max_in_flight(worker.id, worker.limit.value());
  if (preempted) {
    spdlog::warn("worker {} preempts: at most {} requests in flight from now on", worker.name, worker.limit.value());
  }
  if (!report.running && !report.waiting) return;  // unknown differs from zero
  dispatch::EngineReport told;
  told.asked = asked;
  told.received = received;
  told.running = report.running.value_or(0);
  told.waiting = report.waiting.value_or(0);
  told.kv_used = report.kv_used.value_or(Tokens());
  told.kv_capacity = report.kv_capacity.value_or(Tokens());
  dispatcher_.report(worker.id, told);
}

void FleetControl::note_refusals(Engine& engine) {
  for (Worker& worker : engine.workers) {
    const std::uint64_t refusals = marks_.refusals(worker.id);
    if (refusals == worker.refusals) continue;
    worker.complaint = fmt::format("refused its rank {} times", refusals);
    spdlog::warn("worker {} refused its rank {} times: the engine has fewer ranks than {}, or this one is not active",
                 worker.name, refusals - worker.refusals, engine.ranks);
    worker.refusals = refusals;
  }
}

void FleetControl::judge_ranks(Engine& engine, const std::vector<const engines::Report*>& reports, Time asked,
                               Time received) {
  const auto known = [](const engines::Report* report) {
    return report != nullptr && report->running && report->waiting;
  };
  if (engine.workers.size() < 2 || !std::all_of(reports.begin(), reports.end(), known)) return;
  const auto books = dispatcher_.workers();
  std::vector<RankJudge::Rank> ranks;
  for (const Worker& worker : engine.workers) {
    const dispatch::WorkerStatus& status = books.at(worker.id.value);
    const auto open = static_cast<std::uint64_t>(std::max<std::int64_t>(status.load.in_flight, 0));
    const engines::Report& report = *reports[*worker.rank];
    ranks.push_back({status.leases_begun, status.leases_begun - std::min(open, status.leases_begun),
                     *report.running + *report.waiting});
  }
  engine.judge.see(asked, received, ranks);
  const auto verdict = engine.judge.honoured();
  if (verdict == engine.rank_honoured) return;
  engine.rank_honoured = verdict;
  marks_.note(engine.name, {engine.ranks, verdict});
  if (verdict != false) return;
  spdlog::warn(
      "worker {} ignores the rank in {}: its own report of its ranks showed {:.0f} % of what would be seen if it "
      "spread "
      "requests by itself, over {} reports. It is one worker from now on, and its ranks are its own affair. vLLM reads "
      "the field from November 2025 on; if it cannot, say ranks = 1",
      engine.name, engine.adapter->rank_field(), 100 * engine.judge.share(), engine.judge.reports());
  engine.ignores_rank = true;
  apply_ranks(engine);
}

}  // namespace evenkeel::gateway
