#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/load.hpp"
#include "config/table.hpp"

namespace evenkeel::config {
namespace {

void add_flag(CLI::App& app, const Setting<ServeSettings>& setting, FlagValues& values) {
  const std::string flag(setting.flag);
  const std::string doc = fmt::format("{} ({})", setting.doc, allowed(setting));
  const std::string group = setting.table.empty() ? "Options" : std::string(setting.table);
  CLI::Option* option = nullptr;
  if (std::holds_alternative<Switch<ServeSettings>>(setting.value)) {
    const std::string both = fmt::format("{},!--no-{}", flag, flag.substr(2));
    option = app.add_flag_function(
        both, [&values, flag](std::int64_t count) { values.given[flag] = {count > 0 ? "true" : "false"}; }, doc);
    option->disable_flag_override();  // "--flag=no" would be read as a count
  } else if (std::holds_alternative<List<ServeSettings>>(setting.value)) {
    option = app.add_option_function<std::vector<std::string>>(
        flag, [&values, flag](const std::vector<std::string>& words) { values.given[flag] = words; }, doc);
  } else {
    option = app.add_option_function<std::string>(
        flag, [&values, flag](const std::string& word) { values.given[flag] = {word}; }, doc);
  }
  ServeSettings defaults;
  option->group(group)->default_str(print(setting, defaults))->run_callback_for_default(false);
}

}  // namespace

void add_serve_flags(CLI::App& app, FlagValues& values) {
  app.add_option("--config", values.config_file, "TOML file; flags count before it");
  app.add_option("--worker-urls", values.worker_urls, "Workers, http://host:port[/base] each; replace the file's");
  app.add_option("--peer-urls", values.peer_urls,
                 "Other routers that share their models, http://host:port[/base] each; replace the file's");
  app.add_flag("--print-config", values.print_config, "Print the configuration in force as TOML and stop");
  for (const auto& setting : serve_table()) {
    if (!setting.flag.empty()) add_flag(app, setting, values);
  }
}

}  // namespace evenkeel::config
