#include "forecast/text_lines.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::forecast {

namespace {

std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace

void append_checksum(std::string& text) { text += fmt::format("checksum {:016x}\n", checksum(text)); }

Result<std::string_view> without_checksum(std::string_view text) {
  constexpr std::string_view word = "checksum ";
  const std::size_t at = text.rfind(word);
  if (at == std::string_view::npos || at == 0 || text[at - 1] != '\n') return failure("it ends without a checksum");
  const std::string_view body = text.substr(0, at);
  if (text.substr(at + word.size()) != fmt::format("{:016x}\n", checksum(body))) {
    return failure("its checksum is not that of its content: it was cut, changed or damaged");
  }
  return body;
}

Result<std::string> read_whole(std::string_view kind, const std::string& path, std::size_t most_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return failure(fmt::format("{} \"{}\": {}", kind, path, error ? error.message() : "is no regular file"));
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error) return failure(fmt::format("{} \"{}\": {}", kind, path, error.message()));
  if (size > most_bytes) {
    return failure(fmt::format("{} \"{}\" has {} bytes; allowed: {}", kind, path, size, most_bytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return failure(fmt::format("{} \"{}\" cannot be read", kind, path));
  return text;
}

std::optional<std::uint64_t> number(std::string_view word, std::uint64_t most) {
  const auto value = parse_unsigned(word);
  return value && *value <= most ? value : std::nullopt;
}

std::vector<std::string_view> Lines::next() {
  if (text_.empty()) return {};
  ++number_;
  const std::size_t end = std::min(text_.find('\n'), text_.size());
  line_ = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  return split(line_, ' ');
}

tl::unexpected<Error> Lines::wrong(std::string_view allowed) const {
  return failure(fmt::format("line {}: \"{}\" is not {}", number_, line_.substr(0, 80), allowed));
}

}  // namespace evenkeel::forecast
