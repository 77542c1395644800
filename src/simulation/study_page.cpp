#include "simulation/study_page.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "report/numbers.hpp"
#include "simulation/results.hpp"

namespace evenkeel::simulation {

namespace {

Result<std::string> write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return failure(fmt::format("cannot write {}", path.string()));
  return path.string();
}

std::string markdown(const Study& study, const StudyRun& run, const StudyPage& page) {
  const std::string seeds = run.seeds == 1
                                ? fmt::format("seed {}", run.first_seed)
                                : fmt::format("seeds {} to {}", run.first_seed, run.first_seed + run.seeds - 1);
  return fmt::format(
      "# {}\n\n{}\n\n```sh\n{}\n```\n\nPaired {}, {} steps measured after the warm-up{}. ± is the "
      "standard error over the seeds.\n\n![{}]({}.svg)\n\n## What is seen\n\n{}\n\n{}",
      study.title, study.reading, command_of(study, run), seeds, report::grouped(run.steps),
      [&] {
        for (const StudyCase& one : study.cases) {
          if (one.length != 1) return ", more or fewer where a table says so";
        }
        return "";
      }(),
      study.title, study.name, page.findings.substr(0, page.findings.find_last_not_of(" \n") + 1),
      page.tables.substr(0, page.tables.find_last_not_of('\n') + 2));
}

}  // namespace

std::string command_of(const Study& study, const StudyRun& run) {
  std::string text =
      fmt::format("evenkeel simulate --experiment {} --steps {} --seeds {}", study.name, run.steps, run.seeds);
  if (run.first_seed != 1) text += fmt::format(" --seed {}", run.first_seed);
  return text;
}

Result<std::vector<std::string>> write_study(const std::string& directory, const Study& study, const StudyRun& run,
                                             const StudyResults& results) {
  const std::filesystem::path folder(directory);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failure(fmt::format("cannot make the directory {}: {}", directory, error.message()));
  const StudyPage page = study.page(results);
  auto text = write_file(folder / fmt::format("{}.md", study.name), markdown(study, run, page));
  if (!text) return tl::unexpected(text.error());
  auto picture = write_file(folder / fmt::format("{}.svg", study.name), page.picture);
  if (!picture) return tl::unexpected(picture.error());
  return std::vector<std::string>{*std::move(text), *std::move(picture)};
}

std::string study_json(const Study& study, const StudyRun& run, const StudyResults& results,
                       const std::vector<std::string>& files) {
  namespace json = boost::json;
  json::array cases;
  for (const CaseResult& result : results) {
    json::array lines;
    for (std::size_t i = 0; i < result.lines.size(); ++i) {
      Setting setting = result.setting;
      setting.overtake_cap = result.what.lines[i].overtake_cap;
      lines.push_back(json::parse(to_json(setting, std::span(&result.lines[i], 1), result.notes)));
    }
    cases.push_back(json::object{{"label", result.what.label}, {"lines", std::move(lines)}});
  }
  const json::object out{{"version", 1},
                         {"experiment", study.name},
                         {"command", command_of(study, run)},
                         {"files", json::value_from(files)},
                         {"cases", std::move(cases)}};
  return json::serialize(out) + '\n';
}

}  // namespace evenkeel::simulation
