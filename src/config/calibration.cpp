#include "config/calibration.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/load.hpp"
#include "config/text_file.hpp"
#include "http/address.hpp"

namespace evenkeel::config {

namespace {

Result<calibrate::Calibration> read_calibration_file(const std::string& path) {
  const auto text = read_text_file("calibration", path);
  if (!text) return tl::unexpected(text.error());
  auto read = calibrate::read_calibration(*text);
  if (!read) return failure(fmt::format("calibration \"{}\": {}", path, read.error().message));
  return read;
}

}  // namespace

Result<std::optional<calibrate::Calibration>> calibration(const WorkerSetting& worker) {
  if (worker.calibration.empty()) return std::nullopt;
  return read_calibration_file(worker.calibration);
}

Result<void> hand_out_calibrations(ServeSettings& settings) {
  for (const std::string& path : std::exchange(settings.calibrations, {})) {
    const auto read = read_calibration_file(path);
    if (!read) return tl::unexpected(read.error());
    const auto measured = http::parse_url(read->url);
    const auto at = std::ranges::find_if(settings.workers, [&](const WorkerSetting& worker) {
      const auto url = http::parse_url(worker.url);
      return url && measured && url->authority() == measured->authority() && url->base_path == measured->base_path;
    });
    if (at == settings.workers.end()) {
      return failure(
          fmt::format("calibration \"{}\": url is \"{}\" (allowed: that of a worker, or say the file as the "
                      "worker's calibration)",
                      path, read->url));
    }
    if (!at->calibration.empty() && at->calibration != path) {
      return failure(fmt::format("the worker with the url \"{}\" has two calibrations: \"{}\" and \"{}\"", at->url,
                                 at->calibration, path));
    }
    at->calibration = path;
  }
  return {};
}

Result<void> check_calibration(const WorkerSetting& worker) {
  if (worker.calibration.empty()) return {};
  if (worker.role != "both") {
    return failure(fmt::format("calibration is of whole requests, and this worker's role is {}", worker.role));
  }
  if (worker.ranks > 1) {
    return failure(
        "calibration is of an engine as a whole, and each of its ranks is a worker (allowed: ranks = 0 or 1)");
  }
  if (const auto read = calibration(worker); !read) return tl::unexpected(read.error());
  return {};
}

}  // namespace evenkeel::config
