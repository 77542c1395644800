#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "calibrate/calibration.hpp"
#include "config/settings.hpp"

namespace CLI {
class App;
}

namespace evenkeel::config {

/// What stood on the command line, as text; `load` reads it.
struct FlagValues {
  std::string config_file;
  std::vector<std::string> worker_urls;                   ///< replace the file's workers
  std::vector<std::string> peer_urls;                     ///< replace the file's peers
  std::map<std::string, std::vector<std::string>> given;  ///< by flag name with its dashes; one word unless a list
  bool print_config = false;
};

/// Adds --config, --worker-urls, --peer-urls, --print-config and one flag for each scalar setting. `values` is filled
/// by the app's parse and must live until then.
void add_serve_flags(CLI::App& app, FlagValues& values);

/// Defaults, then the file, then the flags, checked as a whole. An error names the place (file:line:column or
/// the flag), what was found and what is allowed. Reads the configuration file and the key files, asks no
/// network.
[[nodiscard]] Result<ServeSettings> load(const FlagValues& flags);

/// The same from a text instead of a file; `source` names it in errors.
[[nodiscard]] Result<ServeSettings> load_text(std::string_view toml, const std::string& source,
                                              const FlagValues& flags);

/// What cannot work: two workers of one name, an alias that is taken, limits that contradict each other, a
/// key that cannot be read. Also fills in workers' default names.
[[nodiscard]] Result<ServeSettings> check(ServeSettings settings);
/// One worker alone, as check does it, for one that is added while the router runs.
[[nodiscard]] Result<WorkerSetting> check(WorkerSetting worker);

/// The key to send to the worker, "" if it has none. Reads the file or the environment; bounded, one line.
[[nodiscard]] Result<std::string> api_key(const WorkerSetting& worker);
[[nodiscard]] Result<std::string> api_key(const PeerSetting& peer);
/// The key that the peer must send, "" if none is asked of it.
[[nodiscard]] Result<std::string> accept_key(const PeerSetting& peer);

/// What was measured of the worker; nothing if it has no such file. The error names file and place.
[[nodiscard]] Result<std::optional<calibrate::Calibration>> calibration(const WorkerSetting& worker);

/// TOML that `load_text` reads back to the same settings. Every scalar is in it.
[[nodiscard]] std::string to_toml(const ServeSettings& settings);

/// The limits in force, a few lines for people: timeouts, pool, sizes, retries; "off" where 0 means that.
[[nodiscard]] std::string describe_limits(const ServeSettings& settings);

}  // namespace evenkeel::config
