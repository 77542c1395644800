#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace evenkeel::engines {

/// A transcript under tests/wire. Missing files fail loudly: an empty page would read as "tells nothing".
inline std::string wire(const std::string& path) {
  std::ifstream in(std::string(EVENKEEL_SOURCE_DIR "/tests/wire/") + path, std::ios::binary);
  if (!in) throw std::runtime_error("no transcript " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The body of a recorded HTTP answer.
inline std::string wire_body(const std::string& path) {
  const std::string whole = wire(path);
  const auto end = whole.find("\r\n\r\n");
  if (end == std::string::npos) throw std::runtime_error("no head in " + path);
  return whole.substr(end + 4);
}

/// The data of the first event of a recorded stream.
inline std::string first_data(const std::string& path) {
  const std::string whole = wire(path);
  if (!whole.starts_with("data: ")) throw std::runtime_error("no event in " + path);
  return whole.substr(6, whole.find('\n') - 6);
}

/// `text` with the first `from` replaced; the test fails if it is not there.
inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("nothing to edit: " + from);
  return text.replace(at, from.size(), to);
}

}  // namespace evenkeel::engines
