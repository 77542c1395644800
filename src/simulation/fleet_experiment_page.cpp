#include "simulation/fleet_experiment_page.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "report/numbers.hpp"
#include "simulation/markdown.hpp"

namespace evenkeel::simulation {

namespace {

std::int64_t trials_of(const FleetExperiment& experiment, const ExperimentRun& run) {
  return run.trials > 0 ? run.trials : experiment.trials;
}

Result<std::string> write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return failure(fmt::format("cannot write {}", path.string()));
  return path.string();
}

std::string markdown_of(const ExperimentTable& table) {
  MarkdownTable rows(table.columns);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(cell.text);
    rows.add_row(cells);
  }
  return fmt::format("\n## {}\n\n{}{}{}", table.heading, table.reading, table.reading.empty() ? "" : "\n\n",
                     rows.text());
}

std::string markdown(const FleetExperiment& experiment, const ExperimentRun& run, const ExperimentResult& result) {
  std::string text =
      fmt::format("# {}\n\n{}\n\n```sh\n{}\n```\n\nSeed {}, {} {}.\n", experiment.title, experiment.reading,
                  command_of(experiment, run), run.seed, report::grouped(trials_of(experiment, run)), experiment.trial);
  if (!result.picture.empty()) text += fmt::format("\n![{}]({}.svg)\n", experiment.title, experiment.name);
  text += "\n## What is seen\n\n";
  for (const Finding& each : result.findings) {
    text += fmt::format("- {}{}\n", each.holds ? "" : "**Does not hold:** ", each.text);
  }
  for (const ExperimentTable& table : result.tables) text += markdown_of(table);
  return text;
}

boost::json::object json_of(const ExperimentTable& table) {
  boost::json::array rows;
  for (const auto& row : table.rows) {
    boost::json::array cells;
    for (const Cell& cell : row) {
      if (cell.value) {
        cells.emplace_back(*cell.value);
      } else {
        cells.emplace_back(cell.text);
      }
    }
    rows.push_back(std::move(cells));
  }
  return {{"heading", table.heading}, {"columns", boost::json::value_from(table.columns)}, {"rows", std::move(rows)}};
}

}  // namespace

std::string command_of(const FleetExperiment& experiment, const ExperimentRun& run) {
  std::string text = fmt::format("evenkeel simulate --experiment {}", experiment.name);
  if (run.trials > 0 && run.trials != experiment.trials) text += fmt::format(" --trials {}", run.trials);
  if (run.seed != 1) text += fmt::format(" --seed {}", run.seed);
  return text;
}

Result<std::vector<std::string>> write_experiment(const std::string& directory, const FleetExperiment& experiment,
                                                  const ExperimentRun& run, const ExperimentResult& result) {
  const std::filesystem::path folder(directory);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failure(fmt::format("cannot make the directory {}: {}", directory, error.message()));
  std::vector<std::string> files;
  auto page = write_file(folder / fmt::format("{}.md", experiment.name), markdown(experiment, run, result));
  if (!page) return tl::unexpected(page.error());
  files.push_back(*std::move(page));
  if (!result.picture.empty()) {
    auto picture = write_file(folder / fmt::format("{}.svg", experiment.name), result.picture);
    if (!picture) return tl::unexpected(picture.error());
    files.push_back(*std::move(picture));
  }
  return files;
}

std::string experiment_json(const FleetExperiment& experiment, const ExperimentRun& run, const ExperimentResult& result,
                            const std::vector<std::string>& files) {
  namespace json = boost::json;
  json::object figures;
  for (const Figure& each : result.figures) figures[each.key] = each.value;
  json::array findings;
  for (const Finding& each : result.findings) {
    findings.push_back(json::object{{"text", each.text}, {"holds", each.holds}});
  }
  json::array tables;
  for (const ExperimentTable& table : result.tables) tables.push_back(json_of(table));
  const json::object out{{"version", 1},
                         {"experiment", experiment.name},
                         {"command", command_of(experiment, run)},
                         {"seed", run.seed},
                         {"trials", trials_of(experiment, run)},
                         {"files", json::value_from(files)},
                         {"figures", std::move(figures)},
                         {"findings", std::move(findings)},
                         {"tables", std::move(tables)}};
  return json::serialize(out) + '\n';
}

}  // namespace evenkeel::simulation
