#include "config/load.hpp"

#include <fmt/format.h>

#include "config/table.hpp"
#include "config/text_file.hpp"
#include "config/toml_file.hpp"

namespace evenkeel::config {
namespace {

Result<void> apply_flags(const FlagValues& flags, ServeSettings& settings) {
  for (const auto& setting : serve_table()) {
    const auto given = flags.given.find(std::string(setting.flag));
    if (given == flags.given.end()) continue;
    if (auto done = store(setting, settings, given->second); !done) {
      return failure(fmt::format("{}: {}", setting.flag, done.error().message));
    }
  }
  if (!flags.worker_urls.empty()) settings.workers.clear();
  for (const std::string& url : flags.worker_urls) settings.workers.push_back({.url = url});
  if (!flags.peer_urls.empty()) settings.peers.clear();
  for (const std::string& url : flags.peer_urls) settings.peers.push_back({.url = url});
  return {};
}

}  // namespace

Result<ServeSettings> load_text(std::string_view toml, const std::string& source, const FlagValues& flags) {
  ServeSettings settings;
  const auto done = apply_toml(toml, source, settings, [&] { return apply_flags(flags, settings); });
  if (!done) return tl::unexpected(done.error());
  return check(std::move(settings));
}

Result<ServeSettings> load(const FlagValues& flags) {
  if (flags.config_file.empty()) return load_text("", "", flags);
  const auto text = read_text_file("--config", flags.config_file);
  if (!text) return tl::unexpected(text.error());
  return load_text(*text, flags.config_file, flags);
}

}  // namespace evenkeel::config
