#include "cli/forecast.hpp"

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "forecast/evaluate.hpp"
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

/// What a Duration could not hold; the rest is checked where it is used.
Result<void> check_token_time(const Source& source) {
  if (source.token_ms >= 0.001 && source.token_ms <= 10'000) return {};
  return failure(fmt::format("token-ms is {}; allowed: 0.001 to 10000", source.token_ms));
}

Result<std::vector<forecast::PastRequest>> read_requests(const Source& source) {
  const auto trace = workload::read_trace(source.spec);
  if (!trace) return tl::unexpected(trace.error());
  std::vector<forecast::PastRequest> requests;
  requests.reserve(trace->requests.size());
  for (const auto& request : trace->requests) {
    requests.push_back({request.arrival, request.prompt_tokens.value(), request.output_tokens.value(),
                        key_of(*trace, request, source.key)});
  }
  for (const auto& note : trace->notes) fmt::print(stderr, "note: {}\n", note);
  return requests;
}

void print_json(const json::object& object) { fmt::print("{}\n", json::serialize(object)); }

Result<int> train(TrainFlags& flags) {
  if (auto checked = check_token_time(flags); !checked) return tl::unexpected(checked.error());
  flags.options.horizon = flags.horizon;
  flags.options.share = flags.split;
  flags.options.timeline = flags.timeline();
  if (auto fault = forecast::fault_of(flags.options); !fault.empty()) return failure(std::move(fault));
  const auto requests = read_requests(flags);
  if (!requests) return tl::unexpected(requests.error());
  const auto model = forecast::train(*requests, flags.options);
  if (!model) {
    fmt::print(stderr, "evenkeel forecast train: {}\n", model.error().message);
    return 1;
  }
  if (auto written = forecast::write_learned_model(*model, flags.to); !written) {
    return failure("to: " + written.error().message);
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

json::object to_json(const std::string& name, const forecast::Measures& measures) {
  json::array bins;
  for (const auto& bin : measures.bins) {
    bins.push_back(json::object{{"count", bin.count}, {"forecast", bin.forecast}, {"came_true", bin.came_true}});
  }
  return {{"forecast", name},        {"questions", measures.questions},   {"positives", measures.positives},
          {"auc", measures.auc},     {"mu_mae", measures.mu_error},       {"c_mae", measures.c_error},
          {"brier", measures.brier}, {"base_brier", measures.base_brier}, {"calibration", std::move(bins)}};
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
    main.add_row({label(names[i]), report::fixed(all[i].auc, 4), report::fixed(all[i].mu_error, 2),
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

Result<void> plot(const std::string& path, std::int64_t horizon, const std::vector<std::string>& names,
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
  std::ofstream file(path, std::ios::binary);
  file << report::to_svg(chart);
  file.close();
  if (!file) return failure(fmt::format("plot: cannot write {}", path));
  return {};
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
  fmt::print("{}", tables(names, all));
}

Result<int> evaluate(const EvalFlags& flags) {
  if (auto checked = check_token_time(flags); !checked) return tl::unexpected(checked.error());
  const forecast::EvaluationOptions options{flags.horizon, flags.split, flags.timeline()};
  if (auto fault = forecast::fault_of(options); !fault.empty()) return failure(std::move(fault));
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
    fmt::print(stderr, "evenkeel forecast eval: of {} requests none is held out\n", requests->size());
    return 1;
  }
  print_report(flags, names, all);
  if (!flags.plot.empty()) {
    if (auto written = plot(flags.plot, flags.horizon, names, all); !written) return tl::unexpected(written.error());
  }
  return 0;
}

void add_source_flags(CLI::App& command, Source& source) {
  auto& spec = source.spec;
  command.add_option("--from", spec.path, "access log or any other trace, plain or .gz")->required();
  command.add_option("--format", spec.format, "name of the trace's format; default: told from the first line");
  command.add_option("--rate", spec.rate, "requests a second, for formats that take it");
  command.add_option("--max-requests", spec.slice.max_requests, "the first so many");
  command.add_option("--min-output", spec.slice.output_from, "leaves out requests with fewer output tokens");
  command.add_option("--horizon", source.horizon, "tokens H: will a request end within so many")->capture_default_str();
  command.add_option("--split", source.split, "share of the requests, by arrival, that is learned from beforehand")
      ->capture_default_str();
  command.add_option("--every", source.every, "tokens between two questions about a request")->capture_default_str();
  command.add_option("--token-ms", source.token_ms, "time of a token: says what has ended when a question is asked")
      ->capture_default_str();
  command.add_option("--key", source.key, "what tells prompts apart: all their blocks, the first one, client, session")
      ->check(CLI::IsMember({"prompt", "template", "client", "session", "none"}))
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
  add_source_flags(*train_command, *train_flags);
  train_command->add_option("--to", train_flags->to, "file for the model")->required();
  train_command->add_option("--trees", train_flags->options.trees, "in each of the two models")->capture_default_str();
  train_command->add_option("--depth", train_flags->options.depth, "of a tree")->capture_default_str();
  train_command->add_option("--learning-rate", train_flags->options.learning_rate, "share of each tree that is taken")
      ->capture_default_str();
  train_command->footer("Exit codes: 0 trained, 1 could not be trained, 2 usage.");
  set_callback(*train_command, "train", train_flags, exit_code, train);

  auto* const eval_command = group->add_subcommand("eval", "judge forecasts on held-out requests");
  const auto eval_flags = std::make_shared<EvalFlags>();
  add_source_flags(*eval_command, *eval_flags);
  eval_command
      ->add_option("--forecast", eval_flags->forecasts,
                   fmt::format("several with commas, of {}", fmt::join(forecast::forecast_names(), ", ")))
      ->capture_default_str();
  eval_command->add_option("--plot", eval_flags->plot, "writes a reliability diagram (SVG)");
  eval_command->footer("Exit codes: 0 judged, 1 no request was held out, 2 usage.");
  set_callback(*eval_command, "eval", eval_flags, exit_code, evaluate);
}

}  // namespace evenkeel::cli
