#include "cli/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::cli {

namespace {

/// A flag without a value is given by its name alone; CLI11 takes numbers for counts.
void refuse_values_of_switches(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
  for (CLI::App* const inner : command.get_subcommands({})) refuse_values_of_switches(*inner);
}

/// The command that the words came to, as far as they were understood.
const CLI::App& innermost(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : innermost(*given.back());
}

std::string name_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? "evenkeel" : fmt::format("{} {}", name_of(*parent), command.get_name());
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const inner : command.get_subcommands({})) names.push_back(inner->get_name());
  return names;
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_name(wrong, views);
  return near.empty() ? "" : fmt::format(", did you mean {}?", near);
}

/// "--flag=" at the end of a word: CLI11 takes it for the flag alone, or takes the next word for its value.
bool is_cut_off(std::string_view word) {
  return word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
}

/// Of words that nobody took: what is wrong with the first that looks like a flag, else with the first.
std::string fault_of_leftovers(const CLI::App& command, const std::vector<std::string>& left) {
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word.front() == '-'; };
  const auto flag = std::find_if(left.begin(), left.end(), is_flag);
  if (flag != left.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    return fmt::format("there is no flag {}{}", name, suggestion(name, flags_of(command)));
  }
  const auto commands = commands_of(command);
  if (commands.empty()) return fmt::format("\"{}\" is one word more than wanted", left.front());
  return fmt::format("there is no command {}{}", left.front(), suggestion(left.front(), commands));
}

int usage(const CLI::App& command, std::string_view what) {
  const std::string name = name_of(command);
  fmt::print(stderr, "{}: {}\n`{} --help` tells what there is.\n", name, what, name);
  return 2;
}

}  // namespace

std::optional<int> run_command_line(CLI::App& app, int argc, char** argv) {
  refuse_values_of_switches(app);
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (is_cut_off(argv[i])) {
      return usage(app, fmt::format("{} lacks what should stand behind \"=\"; allowed: a value, or, where the flag "
                                    "takes none, no \"=\"",
                                    argv[i]));
    }
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& said) {
    return app.exit(said);
  } catch (const CLI::ParseError& wrong) {
    // What is missing may only be misspelt.
    const bool leftovers_first = dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr ||
                                 dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr;
    if (const auto left = app.remaining(true); leftovers_first && !left.empty()) {
      const CLI::App& command = innermost(app);
      return usage(command, fault_of_leftovers(command, left));
    }
    (void)app.exit(wrong);
    return 2;
  }
}

}  // namespace evenkeel::cli
