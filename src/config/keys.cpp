// Keys stand in files or in the environment, never in the configuration.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/load.hpp"

namespace evenkeel::config {
namespace {

constexpr std::size_t max_key_bytes = 8192;

Result<std::string> key_of_text(std::string_view text, const std::string& whence) {
  const std::string_view key = trim(text);
  const bool printable = std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (key.empty() || key.size() > max_key_bytes || !printable) {
    return failure(
        fmt::format("{} holds no key (allowed: one line of at most {} printable characters)", whence, max_key_bytes));
  }
  return std::string(key);
}

/// "" if neither a file nor a variable is given. `what` begins the names of both settings.
Result<std::string> read_key(std::string_view what, const std::string& in_file, const std::string& in_environment) {
  if (!in_file.empty() && !in_environment.empty()) {
    return failure(fmt::format("{0}_file and {0}_env are both given (allowed: one of them)", what));
  }
  if (!in_environment.empty()) {
    const char* value = std::getenv(in_environment.c_str());
    if (value == nullptr) return failure(fmt::format("{}_env: the environment has no {}", what, in_environment));
    return key_of_text(value, fmt::format("{}_env {}", what, in_environment));
  }
  if (in_file.empty()) return std::string();
  std::ifstream file(in_file, std::ios::binary);
  std::string text(max_key_bytes + 2, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return failure(fmt::format("{}_file \"{}\" cannot be read or is empty", what, in_file));
  return key_of_text(text, fmt::format("{}_file \"{}\"", what, in_file));
}

}  // namespace

Result<std::string> api_key(const WorkerSetting& worker) {
  return read_key("api_key", worker.api_key_file, worker.api_key_env);
}

Result<std::string> api_key(const PeerSetting& peer) {
  return read_key("api_key", peer.api_key_file, peer.api_key_env);
}

Result<std::string> accept_key(const PeerSetting& peer) {
  return read_key("accept_key", peer.accept_key_file, peer.accept_key_env);
}

}  // namespace evenkeel::config
