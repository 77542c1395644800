#include "gateway/metrics_page.hpp"

#include <array>
#include <span>

#include <fmt/format.h>

#include "gateway/breakers.hpp"
#include "gateway/forecast_keeper.hpp"
#include "gateway/pressure_page.hpp"

namespace evenkeel::gateway {

using observe::append_help;
using observe::append_sample;
using observe::Cell;
using observe::label_value;
using observe::SecondsHistogram;
using observe::ShardCounters;

namespace {

using Shards = std::vector<std::unique_ptr<Shard>>;

double sum(const Shards& shards, Cell ShardCounters::*cell) {
  double total = 0;
  for (const auto& shard : shards) total += static_cast<double>((shard->counters.*cell).get());
  return total;
}

void append_one(std::string& out, const Shards& shards, std::string_view name, std::string_view type,
                std::string_view help, Cell ShardCounters::*cell) {
  append_help(out, name, type, help);
  append_sample(out, name, {}, sum(shards, cell));
}

/// `count(i)`: of what is over the bound before and not over bounds[i], in seconds; the last is over all.
template <class Count>
void append_buckets(std::string& out, std::string_view name, std::string_view help, std::span<const double> bounds,
                    double sum, Count count) {
  append_help(out, name, "histogram", help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    below += count(i);
    const std::string bound = i < bounds.size() ? fmt::format("le=\"{}\"", bounds[i]) : "le=\"+Inf\"";
    append_sample(out, fmt::format("{}_bucket", name), bound, static_cast<double>(below));
  }
  append_sample(out, fmt::format("{}_sum", name), {}, sum);
  append_sample(out, fmt::format("{}_count", name), {}, static_cast<double>(below));
}

void append_histogram(std::string& out, const Shards& shards, std::string_view name, std::string_view help,
                      SecondsHistogram ShardCounters::*member) {
  double seconds = 0;
  for (const auto& shard : shards) seconds += (shard->counters.*member).sum_seconds();
  append_buckets(out, name, help, SecondsHistogram::bounds, seconds, [&](std::size_t i) {
    std::uint64_t count = 0;
    for (const auto& shard : shards) count += (shard->counters.*member).bucket(i);
    return count;
  });
}

template <class Value>
void append_by_worker(std::string& out, const std::vector<dispatch::WorkerStatus>& workers, std::string_view name,
                      std::string_view type, std::string_view help, Value value) {
  append_help(out, name, type, help);
  for (const auto& worker : workers) {
    if (worker.spec.peer) continue;  // one for each model that is shared; peer_report.cpp shows them
    if (worker.state == dispatch::WorkerState::removed && worker.load.in_flight == 0) continue;
    append_sample(out, name, fmt::format("worker=\"{}\"", label_value(worker.spec.name)), value(worker));
  }
}

void append_held(std::string& out, const dispatch::HeldTimes& held) {
  std::array<double, dispatch::HeldTimes::bounds_us.size()> bounds_s{};
  for (std::size_t i = 0; i < bounds_s.size(); ++i) {
    bounds_s[i] = static_cast<double>(dispatch::HeldTimes::bounds_us[i]) / 1e6;
  }
  append_buckets(out, "evenkeel_decision_held_seconds", "How long a decision held the dispatcher's lock.", bounds_s,
                 to_seconds(held.sum()), [&](std::size_t i) { return held.count(i); });
}

void append_requests(std::string& out, const Shards& shards) {
  append_help(out, "evenkeel_requests_total", "counter", "Requests ended, by outcome class.");
  for (const auto outcome : fleet::all_outcomes) {
    double total = 0;
    for (const auto& shard : shards)
      total += static_cast<double>(shard->counters.outcomes[static_cast<std::size_t>(outcome)].get());
    append_sample(out, "evenkeel_requests_total", fmt::format("outcome=\"{}\"", fleet::to_string(outcome)), total);
  }
  append_help(out, "evenkeel_refusals_total", "counter", "Requests refused by the router, by reason.");
  for (const auto refusal : fleet::all_refusals) {
    double total = 0;
    for (const auto& shard : shards)
      total += static_cast<double>(shard->counters.refusals[static_cast<std::size_t>(refusal)].get());
    append_sample(out, "evenkeel_refusals_total", fmt::format("reason=\"{}\"", fleet::to_string(refusal)), total);
  }
  append_help(out, "evenkeel_answers_total", "counter",
              "Answers begun, by class of status; none = the client got no status.");
  constexpr std::array<std::string_view, 6> names = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    double total = 0;
    for (const auto& shard : shards) total += static_cast<double>(shard->counters.status_classes[i].get());
    append_sample(out, "evenkeel_answers_total", fmt::format("status=\"{}\"", names[i]), total);
  }
}

void append_workers(std::string& out, const dispatch::Dispatcher& dispatcher, const Breakers& breakers,
                    const RankMarks& ranks) {
  const auto workers = dispatcher.workers();
  append_by_worker(
      out, workers, "evenkeel_worker_routable", "gauge", "1 if requests can be sent to the worker.", [](const auto& w) {
        return w.state == dispatch::WorkerState::routable || w.state == dispatch::WorkerState::trial ? 1.0 : 0.0;
      });
  append_by_worker(out, workers, "evenkeel_worker_in_flight", "gauge", "Open leases.",
                   [](const auto& w) { return static_cast<double>(w.load.in_flight); });
  append_by_worker(out, workers, "evenkeel_worker_max_in_flight", "gauge", "Limit of open leases.",
                   [](const auto& w) { return static_cast<double>(w.spec.max_in_flight); });
  append_by_worker(out, workers, "evenkeel_worker_kv_tokens", "gauge", "KV tokens of open leases.",
                   [](const auto& w) { return w.load.kv_tokens().as_double(); });
  append_by_worker(out, workers, "evenkeel_worker_foreign_requests", "gauge",
                   "Requests the engine reports beyond ours.", [](const auto& w) { return w.foreign_requests; });
  append_by_worker(out, workers, "evenkeel_worker_rate", "gauge", "Learned work per second at the present concurrency.",
                   [](const auto& w) { return w.rate; });
  append_by_worker(out, workers, "evenkeel_worker_signal_age_seconds", "gauge",
                   "Age of the engine's last report; -1 = none.",
                   [](const auto& w) { return w.reported ? to_seconds(w.signal_age) : -1.0; });
  append_by_worker(out, workers, "evenkeel_worker_prefix_blocks", "gauge",
                   "Blocks of prompts that the worker's prefix cache is believed to hold.",
                   [](const auto& w) { return static_cast<double>(w.prefixes.blocks); });
  append_by_worker(out, workers, "evenkeel_worker_prefix_capacity_blocks", "gauge",
                   "Blocks that are kept account of; 0 = the worker has no prefix cache that is known of.",
                   [](const auto& w) { return static_cast<double>(w.prefixes.capacity); });
  append_by_worker(out, workers, "evenkeel_worker_prefix_forgotten_total", "counter",
                   "Times the worker was started anew, and its prefix cache taken to be empty.",
                   [](const auto& w) { return static_cast<double>(w.prefixes.forgotten); });
  append_by_worker(out, workers, "evenkeel_worker_leases_total", "counter", "Leases ever begun.",
                   [](const auto& w) { return static_cast<double>(w.leases_begun); });
  append_by_worker(out, workers, "evenkeel_worker_ejections_total", "counter", "Times the breaker opened.",
                   [&](const auto& w) { return static_cast<double>(breakers.status(w.id).ejections); });
  append_by_worker(out, workers, "evenkeel_worker_rank_refusals_total", "counter",
                   "Requests that the engine answered with an error because of their rank.",
                   [&](const auto& w) { return static_cast<double>(ranks.refusals(w.id)); });
  append_help(out, "evenkeel_books_sound", "gauge", "1 while no book is negative and idle books are zero.");
  append_sample(out, "evenkeel_books_sound", {}, dispatcher.sound() ? 1 : 0);
  append_help(out, "evenkeel_prefix_index_bytes", "gauge", "Memory of the index of prefix caches.");
  append_sample(out, "evenkeel_prefix_index_bytes", {}, static_cast<double>(dispatcher.prefix_bytes()));
  const auto pool = dispatcher.pool();
  append_help(out, "evenkeel_pool_waiting", "gauge", "Requests waiting for a worker.");
  append_sample(out, "evenkeel_pool_waiting", {}, static_cast<double>(pool.waiting));
  append_help(out, "evenkeel_pool_bytes", "gauge", "Bytes of the requests waiting.");
  append_sample(out, "evenkeel_pool_bytes", {}, pool.bytes.as_double());
  append_help(out, "evenkeel_pool_drain_per_second", "gauge", "Leases ended a second, lately.");
  append_sample(out, "evenkeel_pool_drain_per_second", {}, pool.drain_per_s);
}

template <class Value>
void append_by_feed(std::string& out, const KvSubscriber::Statuses& all,
                    const std::vector<dispatch::WorkerStatus>& workers, std::string_view name, std::string_view type,
                    std::string_view help, Value value) {
  append_help(out, name, type, help);
  for (const auto& [worker, status] : all) {
    append_sample(out, name, fmt::format("worker=\"{}\"", label_value(workers.at(worker.value).spec.name)),
                  static_cast<double>(value(status)));
  }
}

/// Of workers that tell of their prefix caches.
void append_kv_events(std::string& out, const KvSubscriber::Statuses& all,
                      const std::vector<dispatch::WorkerStatus>& workers) {
  if (all.empty()) return;
  const auto append = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    append_by_feed(out, all, workers, name, type, help, value);
  };
  append("evenkeel_kv_events_live", "gauge", "1 while what the worker tells of its prefix cache is believed.",
         [](const auto& s) { return s.state == engines::KvFeedState::live ? 1 : 0; });
  append("evenkeel_kv_events_age_seconds", "gauge", "Since the last batch of KV-cache events; -1 = none has come.",
         [](const auto& s) { return s.age ? to_seconds(*s.age) : -1.0; });
  append("evenkeel_kv_events_blocks", "gauge", "Blocks that the worker has told it holds.",
         [](const auto& s) { return s.blocks; });
  append("evenkeel_kv_events_bytes", "gauge", "Memory that the account of them takes.",
         [](const auto& s) { return s.memory_bytes; });
  append("evenkeel_kv_events_batches_total", "counter", "Batches of KV-cache events taken.",
         [](const auto& s) { return s.batches; });
  append("evenkeel_kv_events_gaps_total", "counter", "Gaps that no replay filled: the account began anew.",
         [](const auto& s) { return s.gaps; });
  append("evenkeel_kv_events_restarts_total", "counter", "Restarts of the engine that its events showed.",
         [](const auto& s) { return s.restarts; });
  append("evenkeel_kv_events_replays_total", "counter", "Replays asked for.", [](const auto& s) { return s.replays; });
  append("evenkeel_kv_events_unreadable_total", "counter", "Messages that could not be read.",
         [](const auto& s) { return s.unreadable; });
  append("evenkeel_kv_events_unplaced_blocks_total", "counter",
         "Blocks whose parent is not known, or beyond kv_event_blocks.", [](const auto& s) { return s.unplaced; });
}

template <class Value>
void append_of_fleets(std::string& out, const std::vector<redline::FleetStatus>& fleets, const ModelNames::All& names,
                      std::string_view name, std::string_view type, std::string_view help, Value value) {
  append_help(out, name, type, help);
  for (const auto& fleet : fleets) {
    const auto model = names.find(fleet.model);
    if (model == names.end()) continue;
    append_sample(out, name, fmt::format("model=\"{}\"", label_value(model->second)),
                  static_cast<double>(value(fleet)));
  }
}

/// Nothing while it is off.
void append_redline(std::string& out, const dispatch::Dispatcher& dispatcher, const ModelNames::All& names) {
  const auto status = dispatcher.redline();
  if (!status) return;
  const auto& fleets = status->models;
  append_of_fleets(out, fleets, names, "evenkeel_redline_frozen", "gauge",
                   "1 while the fleet is short of memory and heavy requests are refused.",
                   [](const auto& fleet) { return fleet.frozen ? 1 : 0; });
  append_of_fleets(out, fleets, names, "evenkeel_redline_freezes_total", "counter", "Times the fleet froze.",
                   [](const auto& fleet) { return fleet.freezes; });
  append_of_fleets(out, fleets, names, "evenkeel_redline_releases_total", "counter", "Times it was released.",
                   [](const auto& fleet) { return fleet.releases; });
  append_of_fleets(out, fleets, names, "evenkeel_redline_usable_kv_tokens", "gauge",
                   "KV tokens free above what must stay free at each worker.",
                   [](const auto& fleet) { return fleet.usable; });
  append_of_fleets(out, fleets, names, "evenkeel_redline_reserve_kv_tokens", "gauge",
                   "KV tokens of the fleet's reserve.", [](const auto& fleet) { return fleet.reserve; });
  append_of_fleets(out, fleets, names, "evenkeel_redline_stranded_share", "gauge",
                   "Share of the headroom that lies under its worker's own floor.",
                   [](const auto& fleet) { return fleet.stranded; });
  const auto workers = dispatcher.workers();
  const auto by_worker = [&](std::string_view name, std::string_view help, auto value) {
    append_by_worker(out, workers, name, "gauge", help,
                     [&](const auto& w) { return w.redline ? static_cast<double>(value(*w.redline)) : 0.0; });
  };
  by_worker("evenkeel_redline_worker_kv_tokens", "KV tokens in use, ours and foreign.",
            [](const redline::WorkerRedline& w) { return w.used; });
  by_worker("evenkeel_redline_worker_peak_kv_tokens", "KV tokens that those may grow to.",
            [](const redline::WorkerRedline& w) { return w.peak; });
  by_worker("evenkeel_redline_worker_siloed", "1 while the worker is not heard of and keeps a reserve of its own.",
            [](const redline::WorkerRedline& w) { return w.lease == redline::LeaseMode::pooled ? 0 : 1; });
  by_worker("evenkeel_redline_worker_crossed", "1 while its engine reports that its memory is at its end.",
            [](const redline::WorkerRedline& w) { return w.crossed ? 1 : 0; });
  append_help(out, "evenkeel_redline_held_total", "counter", "Requests that had to wait though a slot was free.");
  append_sample(out, "evenkeel_redline_held_total", {}, static_cast<double>(status->held));
  append_help(out, "evenkeel_redline_misrouted_share", "gauge",
              "Share of ended requests that were taken for heavy and were not, or the other way round.");
  append_sample(out, "evenkeel_redline_misrouted_share", {}, status->heavy.misrouted());
  append_help(out, "evenkeel_redline_corrected_total", "counter",
              "Requests taken for light whose age showed that they are heavy.");
  append_sample(out, "evenkeel_redline_corrected_total", {}, static_cast<double>(status->heavy.corrected));
}

void append_ranks(std::string& out, const RankMarks& ranks) {
  const auto engines = ranks.engines();
  append_help(out, "evenkeel_engine_ranks", "gauge", "Data-parallel ranks of an engine that has some.");
  for (const auto& [name, mark] : engines) {
    append_sample(out, "evenkeel_engine_ranks", fmt::format("engine=\"{}\"", label_value(name)),
                  static_cast<double>(mark.ranks));
  }
  append_help(out, "evenkeel_engine_rank_honoured", "gauge",
              "1 if requests run on the rank they are sent to, 0 if not, -1 if not known.");
  for (const auto& [name, mark] : engines) {
    const double value = !mark.honoured ? -1 : *mark.honoured ? 1 : 0;
    append_sample(out, "evenkeel_engine_rank_honoured", fmt::format("engine=\"{}\"", label_value(name)), value);
  }
}

template <class Value>
void append_by_model(std::string& out, const std::vector<forecast::ForecastStatus>& all, const ModelNames::All& names,
                     std::string_view name, std::string_view help, Value value) {
  append_help(out, name, "gauge", help);
  for (const auto& one : all) {
    const auto model = names.find(one.model);
    if (model == names.end()) continue;
    append_sample(out, name, fmt::format("model=\"{}\"", label_value(model->second)), value(one));
  }
}

/// Nothing under a policy that makes no forecasts.
void append_forecasts(std::string& out, std::vector<forecast::ForecastStatus> all, const ModelNames::All& names) {
  if (all.empty()) return;
  append_by_model(out, all, names, "evenkeel_forecast_ended", "Ended requests that the forecast remembers.",
                  [](const auto& one) { return static_cast<double>(one.ended); });
  std::erase_if(all, [](const auto& one) { return !one.guard; });
  append_by_model(out, all, names, "evenkeel_forecast_settled", "Questions the forecast is judged by; they fade.",
                  [](const auto& one) { return one.guard->settled; });
  append_by_model(out, all, names, "evenkeel_forecast_brier", "Mean squared error of the forecast's probabilities.",
                  [](const auto& one) { return one.guard->brier; });
  append_by_model(out, all, names, "evenkeel_forecast_base_brier", "The same of who knows but the share that goes on.",
                  [](const auto& one) { return one.guard->base_brier; });
  append_by_model(out, all, names, "evenkeel_forecast_skill",
                  "1 - brier / base_brier: 1 knows all, 0 nothing, below 0 misleads.",
                  [](const auto& one) { return one.guard->skill(); });
  append_by_model(out, all, names, "evenkeel_forecast_fallback", "1 while the forecast misleads and is not believed.",
                  [](const auto& one) { return one.guard->fallen_back ? 1.0 : 0.0; });
}

void append_forecast_file(std::string& out, const ForecastKeeper::Status& file, Time now) {
  append_help(out, "evenkeel_forecast_file_age_seconds", "gauge",
              "Since the forecast file was saved; -1 = not since the start.");
  append_sample(out, "evenkeel_forecast_file_age_seconds", {},
                file.saved == Time::min() ? -1 : to_seconds(now - file.saved));
  append_help(out, "evenkeel_forecast_file_errors_total", "counter", "Saves of the forecast file that failed.");
  append_sample(out, "evenkeel_forecast_file_errors_total", {}, static_cast<double>(file.errors));
}

}  // namespace

std::string metrics_page(const Shards& shards, const dispatch::Dispatcher& dispatcher, const Breakers& breakers,
                         const RankMarks& ranks, const observe::LogWriter* log, const ModelNames& models,
                         const ForecastKeeper* forecasts, const PressureWatch* pressure,
                         const KvSubscriber::Statuses& kv_events, Time now) {
  std::string out;
  out.reserve(16384);
  append_one(out, shards, "evenkeel_connections", "gauge", "Client connections open.",
             &ShardCounters::connections_open);
  append_one(out, shards, "evenkeel_requests_open", "gauge", "Requests being served.", &ShardCounters::requests_open);
  append_requests(out, shards);
  append_one(out, shards, "evenkeel_retries_total", "counter", "Attempts after the first.", &ShardCounters::retries);
  append_one(out, shards, "evenkeel_retries_denied_total", "counter", "Retries the budget did not have.",
             &ShardCounters::retries_denied);
  append_one(out, shards, "evenkeel_reused_connection_retries_total", "counter",
             "Repeats because a kept connection had died.", &ShardCounters::reused_socket_retries);
  append_one(out, shards, "evenkeel_streams_cut_total", "counter", "Answers that broke after they had begun.",
             &ShardCounters::streams_cut);
  append_one(out, shards, "evenkeel_error_events_held_total", "counter", "Streams whose first event was an error.",
             &ShardCounters::held_errors);
  append_one(out, shards, "evenkeel_alias_edits_total", "counter", "Model names replaced in bodies.",
             &ShardCounters::alias_edits);
  append_one(out, shards, "evenkeel_transfer_edits_total", "counter", "Transfer and rank fields removed from bodies.",
             &ShardCounters::transfer_edits);
  append_one(out, shards, "evenkeel_events_total", "counter", "Stream events relayed.", &ShardCounters::events);
  append_one(out, shards, "evenkeel_upload_bytes_total", "counter", "Body bytes to workers.", &ShardCounters::bytes_up);
  append_one(out, shards, "evenkeel_answer_bytes_total", "counter", "Body bytes to clients.",
             &ShardCounters::bytes_down);
  append_one(out, shards, "evenkeel_prompt_tokens_total", "counter", "Prompt tokens of ended requests.",
             &ShardCounters::prompt_tokens);
  append_one(out, shards, "evenkeel_output_tokens_total", "counter", "Output tokens of ended requests.",
             &ShardCounters::output_tokens);
  append_one(out, shards, "evenkeel_upstream_connects_total", "counter", "Connections opened to workers.",
             &ShardCounters::upstream_connects);
  append_one(out, shards, "evenkeel_upstream_reuses_total", "counter", "Attempts over a kept connection.",
             &ShardCounters::upstream_reuses);
  append_one(out, shards, "evenkeel_prefix_expected_hit_tokens_total", "counter",
             "Prompt tokens expected in prefix caches of the workers chosen.", &ShardCounters::expected_hit_tokens);
  append_one(out, shards, "evenkeel_prefix_judged_hit_tokens_total", "counter",
             "Those of them whose worker told what it found.", &ShardCounters::judged_hit_tokens);
  append_one(out, shards, "evenkeel_prefix_told_hit_tokens_total", "counter",
             "Prompt tokens that it told to have found.", &ShardCounters::told_hit_tokens);
  append_one(out, shards, "evenkeel_prefix_hit_error_tokens_total", "counter",
             "Sum of how far each expectation was off, whichever way.", &ShardCounters::hit_error_tokens);
  append_one(out, shards, "evenkeel_transfers_total", "counter", "Prefills whose KV a decode worker can take over.",
             &ShardCounters::transfers);
  append_one(out, shards, "evenkeel_transfers_used_total", "counter", "Those of which a decode worker was told.",
             &ShardCounters::transfers_used);
  append_one(out, shards, "evenkeel_transfers_expired_total", "counter",
             "Those whose lease was at its end before a decode worker was found; the prefill was made again.",
             &ShardCounters::transfers_expired);
  append_one(out, shards, "evenkeel_transfers_repeated_total", "counter",
             "Prefills made again because the decode worker failed.", &ShardCounters::transfers_repeated);
  append_one(out, shards, "evenkeel_legs_cancelled_total", "counter",
             "Legs of requests that were ended at once because the other leg had failed.",
             &ShardCounters::legs_cancelled);
  append_histogram(out, shards, "evenkeel_prefill_seconds", "At a prefill worker, each time.", &ShardCounters::prefill);
  append_histogram(out, shards, "evenkeel_queue_seconds", "Time in the waiting pool.", &ShardCounters::queue);
  append_histogram(out, shards, "evenkeel_first_byte_seconds", "Arrival to the first byte of the answer.",
                   &ShardCounters::first_byte);
  append_histogram(out, shards, "evenkeel_total_seconds", "Arrival to the end.", &ShardCounters::total);
  append_histogram(out, shards, "evenkeel_cancel_seconds", "Client seen gone to worker's connection closed.",
                   &ShardCounters::cancel);
  append_held(out, dispatcher.held());
  append_workers(out, dispatcher, breakers, ranks);
  append_ranks(out, ranks);
  append_kv_events(out, kv_events, dispatcher.workers());
  append_redline(out, dispatcher, models.all());
  append_forecasts(out, dispatcher.forecasts(), models.all());
  if (pressure != nullptr) append_pressure(out, pressure->look());
  if (forecasts != nullptr) append_forecast_file(out, forecasts->status(), now);
  append_help(out, "evenkeel_log_lines_dropped_total", "counter", "Access-log lines the disk was too slow for.");
  append_sample(out, "evenkeel_log_lines_dropped_total", {}, log == nullptr ? 0 : static_cast<double>(log->dropped()));
  return out;
}

}  // namespace evenkeel::gateway
