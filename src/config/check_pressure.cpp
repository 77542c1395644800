#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "config/check_parts.hpp"

namespace evenkeel::config {

Result<void> check_pressure(const ServeSettings& settings) {
  const PressureSettings& p = settings.pressure;
  const PressureSettings defaults;
  for (const ModelSetting& model : settings.models) {
    if (!model.never_shed || p.mode == "shed") continue;
    return failure(fmt::format("model \"{}\": never_shed has no effect with pressure.mode = {} (allowed with: shed)",
                               model.name, p.mode));
  }
  if (p.mode == "off") {
    if (p == defaults) return {};
    return failure("settings of pressure have no effect with pressure.mode = off (allowed with: show, shed)");
  }
  if (p.evidence == "swap" && (p.stall_percent != defaults.stall_percent || p.swap_ins != defaults.swap_ins)) {
    return failure(
        "pressure.stall_percent and pressure.swap_ins have no effect with pressure.evidence = swap (allowed with: "
        "thrash)");
  }
  std::error_code error;
  if (std::filesystem::is_directory(p.root + "/proc", error)) return {};
  return failure(fmt::format(
      "pressure.root \"{}\" has no folder proc (allowed: \"/\", or a folder that has the proc and sys of a Linux host)",
      p.root));
}

}  // namespace evenkeel::config
