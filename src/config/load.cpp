#include "config/load.hpp"

#include <fstream>

#include <fmt/format.h>

#include "config/table.hpp"
#include "config/toml_file.hpp"

namespace evenkeel::config {
namespace {

constexpr std::streamsize max_file_bytes = 4 << 20;

Result<void> apply_flags(const FlagValues& flags, ServeSettings& settings) {
  for (const auto& setting : serve_table()) {
    const auto given = flags.given.find(std::string(setting.flag));
    if (given == flags.given.end()) continue;
    if (auto done = store(setting, settings, given->second); !done) {
      return failure(fmt::format("{}: {}", setting.flag, done.error().message));
    }
  }
  if (flags.worker_urls.empty()) return {};
  settings.workers.clear();
  for (const std::string& url : flags.worker_urls) settings.workers.push_back({.url = url});
  return {};
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(fmt::format("--config: cannot open \"{}\"", path));
  std::string text(static_cast<std::size_t>(max_file_bytes) + 1, '\0');
  file.read(text.data(), max_file_bytes + 1);
  if (file.bad()) return failure(fmt::format("--config: cannot read \"{}\"", path));
  if (file.gcount() > max_file_bytes) {
    return failure(fmt::format("--config: \"{}\" is over {} bytes", path, max_file_bytes));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
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
  const auto text = read_file(flags.config_file);
  if (!text) return tl::unexpected(text.error());
  return load_text(*text, flags.config_file, flags);
}

}  // namespace evenkeel::config
