#include "cli/plan_reserve.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "cli/flag_values.hpp"
#include "cli/output_file.hpp"
#include "cli/plan_answer.hpp"
#include "cli/plan_source.hpp"

namespace evenkeel::cli {

namespace {

const std::vector<std::string_view> detail_names{"windows", "standing", "maximum", "loss", "footprints", "all"};

struct ReserveFlags : PlanSource {
  std::string details;
  std::string plot;
  bool published = false;
  std::optional<double> freeze_cost;
  double simultaneity = 1;
  std::int64_t paths = 20'000;
  std::int64_t seed = 1;
};

CLI::Validator detail_list() {
  return CLI::Validator(
      [](std::string& given) {
        for (const std::string_view word : split(given, ',')) {
          if (std::ranges::find(detail_names, trim(word)) == detail_names.end()) {
            return fmt::format("\"{}\"; allowed: {}, several with commas", given, fmt::join(detail_names, ", "));
          }
        }
        return std::string();
      },
      "");
}

ReserveQuestions questions_of(const ReserveFlags& flags, const planning::FleetPlan& plan,
                              planning::Evaluator evaluator) {
  ReserveQuestions questions;
  questions.evaluator = evaluator;
  questions.published = flags.published;
  std::vector<std::string_view> words = split(flags.details, ',');
  for (auto& word : words) word = trim(word);
  const auto asked = [&](std::string_view name) {
    return std::ranges::any_of(words, [&](std::string_view word) { return word == name || word == "all"; });
  };
  questions.windows = asked("windows");
  questions.standing = asked("standing");
  questions.maximum = asked("maximum");
  questions.loss = asked("loss");
  questions.footprints = asked("footprints");
  questions.paths = static_cast<std::size_t>(flags.paths);
  questions.seed = static_cast<std::uint64_t>(flags.seed);
  if (flags.freeze_cost) {
    // The level is under / (under + over).
    questions.costs = planning::CostModel{plan.level / (1 - plan.level), 1, *flags.freeze_cost, flags.simultaneity};
  }
  return questions;
}

/// Flags that would be passed over.
Result<void> check_use(const CLI::App& command, const ReserveFlags& flags) {
  const bool draws =
      flags.details.find("maximum") != std::string::npos || flags.details.find("all") != std::string::npos;
  for (const std::string flag : {"--paths", "--seed"}) {
    if (command.count(flag) > 0 && !draws) return failure(flag + " has no effect without --details maximum");
  }
  for (const std::string flag : {"--staleness", "--correlated-share"}) {
    if (command.count(flag) > 0 && flags.published) return failure(flag + " has no effect with --published");
  }
  return {};
}

Result<int> reserve(const CLI::App& command, const ReserveFlags& flags) {
  if (auto ok = check_use(command, flags); !ok) return tl::unexpected(ok.error());
  if (!flags.plot.empty()) {
    if (auto ok = check_output_file("--plot", flags.plot); !ok) return tl::unexpected(ok.error());
  }
  auto plan = flags.read();
  if (!plan) return tl::unexpected(plan.error());
  const auto evaluator = flags.read_evaluator();
  if (!evaluator) return tl::unexpected(evaluator.error());
  const auto questions = questions_of(flags, *plan, *evaluator);
  const auto result = answer(std::move(*plan), questions);
  if (!result) return tl::unexpected(result.error());
  if (!flags.plot.empty()) {
    const auto svg = reserve_svg(result->plan, *evaluator);
    if (!svg) return tl::unexpected(svg.error());
    if (auto written = write_output_file("--plot", flags.plot, *svg); !written) {
      fmt::print(stderr, "evenkeel plan reserve: {}\n", written.error().message);
      return 1;
    }
  }
  fmt::print("{}", flags.json ? to_json(*result) : to_text(*result));
  return 0;
}

}  // namespace

void add_plan_reserve(CLI::App& plan, int& exit_code) {
  CLI::App* const command =
      plan.add_subcommand("reserve", "how much must stay free for what may arrive until new capacity is there");
  auto flags = std::make_shared<ReserveFlags>();
  flags->add_to(*command);
  command
      ->add_option("--details", flags->details,
                   fmt::format("more tables, with commas: {}", fmt::join(detail_names, ", ")))
      ->check(detail_list());
  command->add_option("--plot", flags->plot, "reserve against fleet size, as SVG")->check(text());
  command->add_flag("--published", flags->published,
                    "to set: the published reserve alone, nothing for what resident tasks grow by");
  auto* const freeze =
      command
          ->add_option(
              "--freeze-cost", flags->freeze_cost,
              "find the cheapest reserve if a worker that stops admitting costs this much, a unit idle being 1")
          ->check(real({0, 1e12}));
  command->add_option("--simultaneity", flags->simultaneity, "N workers that stop at once cost N to this power as much")
      ->check(real({0, 4}))
      ->needs(freeze)
      ->capture_default_str();
  command->add_option("--paths", flags->paths, "windows drawn for --details maximum")
      ->check(whole({1000, 1'000'000}))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of those draws")->check(whole({1, 1'000'000'000}))->capture_default_str();
  command->footer("Exit codes: 0 fine, 1 the picture could not be written, 2 usage or a plan that is refused.");
  command->callback([command, flags, &exit_code] {
    const Result<int> code = reserve(*command, *flags);
    if (!code) fmt::print(stderr, "evenkeel plan reserve: {}\n", code.error().message);
    exit_code = code.value_or(2);
  });
}

}  // namespace evenkeel::cli
