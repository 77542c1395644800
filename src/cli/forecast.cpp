#include "cli/forecast.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/flag_values.hpp"
#include "cli/output_file.hpp"
#include "forecast/evaluate.hpp"
#include "forecast/length_grid.hpp"
#include "forecast/registry.hpp"
#include "forecast/train.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"
#include "workload/read_trace.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;

/// What both commands ask for.
struct Source {
  workload::TraceSpec spec;
  std::string key = "prompt";
  double token_ms = 50;
  std::int64_t horizon = 80;
  std::int64_t every = 40;
  double split = 0.5;
  bool as_json = false;

  [[nodiscard]] forecast::TimelineOptions timeline() const { return {every, from_millis(token_ms)}; }
};

struct TrainFlags : Source {
  std::string to;
  forecast::TrainingOptions options;
};

struct EvalFlags : Source {
  std::string forecasts = "survival,exact_match";
  std::string plot;
};

/// What stands for the prompt's hash in a trace that keeps no texts; 0 where it says nothing.
std::uint64_t key_of(const workload::Trace& trace, const workload::TraceRequest& request, const std::string& key) {
  const auto hash_name = [](workload::NameIndex name) -> std::uint64_t {
    return name == workload::no_index ? 0 : mix64(name + 1) | 1;
  };
  if (key == "client") return hash_name(request.client);
  if (key == "session") return hash_name(request.session);
  if (key == "none") return 0;
  std::uint64_t hash = 0;
  for (const std::uint64_t block : trace.prefix_blocks(request)) {
    hash = mix64(hash ^ mix64(block + 1));
    if (key == "template") break;
  }
  return hash;
}

/// The trace reader speaks of its fields; here they are flags.
std::string named_by_flags(std::string message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 1> flags = {{{"option rate", "--rate"}}};
  const std::string told = in_flags(message, flags);
  return told == message ? "--from: " + message : told;
}

Result<std::vector<forecast::PastRequest>> read_requests(const Source& source) {
  const auto trace = workload::read_trace(source.spec);
  if (!trace) return failure(named_by_flags(trace.error().message));
  std::vector<forecast::PastRequest> requests;
  requests.reserve(trace->requests.size());
  for (const auto& request : trace->requests) {
    requests.push_back({request.arrival, request.prompt_tokens.value(), request.output_tokens.value(),
                        key_of(*trace, request, source.key)});
  }
  for (const auto& note : trace->notes) fmt::print(stderr, "note: {}\n", note);
  const auto empty = std::ranges::count_if(requests, [](const auto& request) { return request.output < 1; });
  if (empty > 0) {
    fmt::print(stderr, "note: {} of {} requests have no output and are left out\n", empty, requests.size());
  }
  return requests;
}

void print_json(const json::object& object) { fmt::print("{}\n", json::serialize(object)); }

Result<int> train(TrainFlags& flags) {
  flags.options.horizon = flags.horizon;
  flags.options.share = flags.split;
  flags.options.timeline = flags.timeline();
  if (auto fault = forecast::fault_of(flags.options); !fault.empty()) return failure("--" + fault);
  if (auto ok = check_output_file("--to", flags.to); !ok) return tl::unexpected(ok.error());
  const auto requests = read_requests(flags);
  if (!requests) return tl::unexpected(requests.error());
  const auto model = forecast::train(*requests, flags.options);
  if (!model) {
    fmt::print(stderr, "evenkeel forecast train: {}\n", model.error().message);
    return 1;
  }
  if (auto written = forecast::write_learned_model(*model, flags.to); !written) {
    fmt::print(stderr, "evenkeel forecast train: --to: {}\n", written.error().message);
    return 1;
  }
  if (flags.as_json) {
    print_json({{"model", flags.to},
                {"horizon", model->horizon},
                {"requests", model->requests},
                {"samples", model->samples},
                {"trees", model->within.trees() + model->remaining.trees()}});
  } else {
    fmt::print("{}: horizon {} tokens, {} trees, trained with {} questions about {} requests\n", flags.to,
               model->horizon, model->within.trees() + model->remaining.trees(),
               report::grouped(static_cast<std::int64_t>(model->samples)),
               report::grouped(static_cast<std::int64_t>(model->requests)));
  }
  return 0;
}

json::value nullable(const std::optional<double>& value) { return value ? json::value(*value) : json::value(nullptr); }

std::string fixed_or_dash(const std::optional<double>& value, int decimals) {
  return value ? report::fixed(*value, decimals) : "-";
}

json::object to_json(const std::string& name, const forecast::Measures& measures) {
  json::array bins;
  for (const auto& bin : measures.bins) {
    bins.push_back(json::object{{"count", bin.count}, {"forecast", bin.forecast}, {"came_true", bin.came_true}});
  }
  return {{"forecast", name},
          {"questions", measures.questions},
          {"positives", measures.positives},
          {"auc", nullable(measures.auc)},
          {"mu_mae", nullable(measures.mu_error)},
          {"c_mae", measures.c_error},
          {"brier", measures.brier},
          {"base_brier", measures.base_brier},
          {"calibration", std::move(bins)}};
}

/// What stands in tables and charts: of a model only its file's name.
std::string label(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::size_t slash = name.rfind('/');
  return colon == std::string::npos || slash == std::string::npos ? name
                                                                  : name.substr(0, colon + 1) + name.substr(slash + 1);
}

std::string tables(const std::vector<std::string>& names, const std::vector<forecast::Measures>& all) {
  report::Table main({{"forecast", report::Align::left}, {"AUC"}, {"MAE of mu"}, {"MAE of c"}, {"Brier"}});
  std::vector<report::Column> columns = {{"P(r <= H)", report::Align::left}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    main.add_row({label(names[i]), fixed_or_dash(all[i].auc, 4), fixed_or_dash(all[i].mu_error, 2),
                  report::fixed(all[i].c_error, 2), report::fixed(all[i].brier, 4)});
    columns.push_back({label(names[i]) + ": n"});
    columns.push_back({"said"});
    columns.push_back({"true"});
  }
  report::Table calibration(columns);
  for (std::size_t bin = 0; bin < all.front().bins.size(); ++bin) {
    const auto edge = static_cast<double>(bin) / 10;
    std::vector<std::string> row = {fmt::format("{:.1f} to {:.1f}", edge, edge + 0.1)};
    for (const auto& measures : all) {
      const auto& at = measures.bins[bin];
      row.push_back(report::grouped(static_cast<std::int64_t>(at.count)));
      row.push_back(at.count == 0 ? "-" : report::fixed(at.forecast, 3));
      row.push_back(at.count == 0 ? "-" : report::fixed(at.came_true, 3));
    }
    calibration.add_row(std::move(row));
  }
  return main.text() + "\n" + calibration.text();
}

std::string reliability_svg(std::int64_t horizon, const std::vector<std::string>& names,
                            const std::vector<forecast::Measures>& all) {
  report::LineChart chart;
  chart.title = fmt::format("Reliability of P(r <= {} tokens)", horizon);
  chart.x.title = "forecast";
  chart.y.title = "share that came true";
  chart.series.push_back({"perfect", {0, 1}, {0, 1}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    report::Series series{label(names[i]), {}, {}};
    for (const auto& bin : all[i].bins) {
      if (bin.count == 0) continue;
      series.x.push_back(bin.forecast);
      series.y.push_back(bin.came_true);
    }
    chart.series.push_back(std::move(series));
  }
  return report::to_svg(chart);
}

void print_report(const EvalFlags& flags, const std::vector<std::string>& names,
                  const std::vector<forecast::Measures>& all) {
  const auto& first = all.front();
  if (flags.as_json) {
    json::array forecasts;
    for (std::size_t i = 0; i < names.size(); ++i) forecasts.push_back(to_json(names[i], all[i]));
    print_json({{"from", flags.spec.path},
                {"horizon", flags.horizon},
                {"split", flags.split},
                {"every", flags.every},
                {"forecasts", std::move(forecasts)}});
    return;
  }
  const double share = static_cast<double>(first.positives) / static_cast<double>(first.questions);
  fmt::print(
      "{} questions about held-out requests, {} end within {} tokens. Brier score of always saying so: {:.4f}\n\n",
      report::grouped(static_cast<std::int64_t>(first.questions)), report::percent(share), flags.horizon,
      first.base_brier);
  if (!first.auc) {
    fmt::print("AUC is not defined: {} of them end within {} tokens.\n\n", first.positives > 0 ? "all" : "none",
               flags.horizon);
  }
  fmt::print("{}", tables(names, all));
}

Result<int> evaluate(const EvalFlags& flags) {
  const forecast::EvaluationOptions options{flags.horizon, flags.split, flags.timeline()};
  if (auto fault = forecast::fault_of(options); !fault.empty()) return failure("--" + fault);
  if (!flags.plot.empty()) {
    if (auto ok = check_output_file("--plot", flags.plot); !ok) return tl::unexpected(ok.error());
  }
  std::vector<std::string> names;
  std::vector<std::shared_ptr<forecast::Forecast>> forecasts;
  for (const std::string_view name : split(flags.forecasts, ',')) {
    auto made = forecast::make_forecast(trim(name));
    if (!made) return tl::unexpected(made.error());
    names.emplace_back(trim(name));
    forecasts.push_back(std::move(*made));
  }
  const auto requests = read_requests(flags);
  if (!requests) return tl::unexpected(requests.error());
  const auto all = forecast::evaluate(*requests, forecasts, options);
  if (all.front().questions == 0) {
    fmt::print(stderr, "evenkeel forecast eval: no request is held out (--split), requests in all: {}\n",
               requests->size());
    return 1;
  }
  print_report(flags, names, all);
  if (!flags.plot.empty()) {
    const std::string svg = reliability_svg(flags.horizon, names, all);
    if (auto written = write_output_file("--plot", flags.plot, svg); !written) {
      fmt::print(stderr, "evenkeel forecast eval: {}\n", written.error().message);
      return 1;
    }
  }
  return 0;
}

void add_source_flags(CLI::App& command, Source& source, simulation::Real split) {
  namespace bounds = simulation::bounds;
  auto& spec = source.spec;
  command.add_option("--from", spec.path, "access log or any other trace, plain or .gz")->check(text())->required();
  command.add_option("--format", spec.format, "name of the trace's format; default: told from the first line")
      ->check(text());
  command.add_option("--rate", spec.rate, "requests a second, for formats that take it")
      ->check(real(bounds::rate_per_s));
  command.add_option("--max-requests", spec.slice.max_requests, "the first so many")
      ->check(whole(bounds::requests_of_trace));
  command.add_option("--min-output", spec.slice.output_from, "leaves out requests with fewer output tokens")
      ->check(whole(bounds::least_output));
  command.add_option("--horizon", source.horizon, "tokens H: will a request end within so many")
      ->check(whole({1, forecast::longest_horizon}))
      ->capture_default_str();
  command.add_option("--split", source.split, "share of the requests, by arrival, that is learned from beforehand")
      ->check(real(split))
      ->capture_default_str();
  command.add_option("--every", source.every, "tokens between two questions about a request")
      ->check(whole({1, forecast::LengthGrid::longest}))
      ->capture_default_str();
  command.add_option("--token-ms", source.token_ms, "time of a token: says what has ended when a question is asked")
      ->check(real({0.001, 10'000}))
      ->capture_default_str();
  command.add_option("--key", source.key, "what tells prompts apart: all their blocks, the first one, client, session")
      ->check(one_of({"prompt", "template", "client", "session", "none"}))
      ->capture_default_str();
  command.add_flag("--json", source.as_json, "one JSON object on stdout");
}

template <class Flags, class Run>
void set_callback(CLI::App& command, std::string name, std::shared_ptr<Flags> flags, int& exit_code, Run run) {
  command.callback([name = std::move(name), flags, &exit_code, run] {
    const Result<int> code = run(*flags);
    if (!code) fmt::print(stderr, "evenkeel forecast {}: {}\n", name, code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace

void add_forecast(CLI::App& app, int& exit_code) {
  auto* const group = app.add_subcommand("forecast", "train and judge forecasts of how long requests still run");
  group->require_subcommand(1);

  auto* const train_command = group->add_subcommand("train", "train the learned forecast (needs XGBoost)");
  const auto train_flags = std::make_shared<TrainFlags>();
  add_source_flags(*train_command, *train_flags, {0.05, 1});
  train_command->add_option("--to", train_flags->to, "file for the model")->check(text())->required();
  train_command->add_option("--trees", train_flags->options.trees, "in each of the two models")
      ->check(whole({1, 2000}))
      ->capture_default_str();
  train_command->add_option("--depth", train_flags->options.depth, "of a tree")
      ->check(whole({1, 8}))
      ->capture_default_str();
  train_command->add_option("--learning-rate", train_flags->options.learning_rate, "share of each tree that is taken")
      ->check(real({0.001, 1}))
      ->capture_default_str();
  train_command->footer("Exit codes: 0 trained, 1 could not be trained or written, 2 usage.");
  set_callback(*train_command, "train", train_flags, exit_code, train);

  auto* const eval_command = group->add_subcommand("eval", "judge forecasts on held-out requests");
  const auto eval_flags = std::make_shared<EvalFlags>();
  add_source_flags(*eval_command, *eval_flags, {0, 0.95});
  eval_command
      ->add_option("--forecast", eval_flags->forecasts,
                   fmt::format("several with commas, of {}", fmt::join(forecast::forecast_names(), ", ")))
      ->check(text())
      ->capture_default_str();
  eval_command->add_option("--plot", eval_flags->plot, "writes a reliability diagram (SVG)")->check(text());
  eval_command->footer("Exit codes: 0 judged, 1 no request was held out or the result could not be written, 2 usage.");
  set_callback(*eval_command, "eval", eval_flags, exit_code, evaluate);
}

}  // namespace evenkeel::cli
