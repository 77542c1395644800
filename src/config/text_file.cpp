#include "config/text_file.hpp"

#include <fstream>

#include <fmt/format.h>

namespace evenkeel::config {

namespace {

constexpr std::streamsize max_file_bytes = 4 << 20;

}  // namespace

Result<std::string> read_text_file(std::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(fmt::format("{}: cannot open \"{}\"", flag, path));
  std::string text(static_cast<std::size_t>(max_file_bytes) + 1, '\0');
  file.read(text.data(), max_file_bytes + 1);
  if (file.bad()) return failure(fmt::format("{}: cannot read \"{}\"", flag, path));
  if (file.gcount() > max_file_bytes)
    return failure(fmt::format("{}: \"{}\" is over {} bytes", flag, path, max_file_bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace evenkeel::config
