#include "config/reference.hpp"

#include <fmt/format.h>

#include "config/table.hpp"

namespace evenkeel::config {
namespace {

template <class Owner>
std::string flag_cell(const Setting<Owner>& setting) {
  if (setting.flag.empty()) return "";
  if (std::holds_alternative<Switch<Owner>>(setting.value)) {
    return fmt::format("`{}`, `--no-{}`", setting.flag, setting.flag.substr(2));
  }
  return fmt::format("`{}`", setting.flag);
}

template <class Owner>
void append_rows(std::string& out, std::span<const Setting<Owner>> settings, std::string_view table, bool with_flags) {
  Owner defaults;
  out += with_flags ? "| key | flag | default | allowed | meaning |\n|---|---|---|---|---|\n"
                    : "| key | default | allowed | meaning |\n|---|---|---|---|\n";
  for (const auto& setting : settings) {
    if (setting.table != table) continue;
    const std::string flag = with_flags ? fmt::format(" {} |", flag_cell(setting)) : "";
    out += fmt::format("| `{}` |{} `{}` | {} | {} |\n", setting.key, flag, print(setting, defaults), allowed(setting),
                       setting.doc);
  }
}

}  // namespace

std::string reference_markdown() {
  std::string out = "### Top level\n\n";
  append_rows(out, serve_table(), "", true);
  std::string_view table;
  for (const auto& setting : serve_table()) {
    if (setting.table == table) continue;
    table = setting.table;
    out += fmt::format("\n### `[{}]`\n\n", table);
    append_rows(out, serve_table(), table, true);
  }
  out += "\n### `[[workers]]`\n\n";
  append_rows(out, worker_table(), "workers", false);
  out += "\n### `[[peers]]`\n\n";
  append_rows(out, peer_table(), "peers", false);
  out += "\n### `[[models]]`\n\n";
  append_rows(out, model_table(), "models", false);
  out +=
      "| `timeouts` | those of `[timeouts]` and its flags | a table with the keys of `[timeouts]` | Its own, "
      "where they differ |\n";
  return out;
}

}  // namespace evenkeel::config
