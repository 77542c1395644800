#include "engines/prometheus.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace evenkeel::engines {
namespace {

constexpr std::string_view blanks = " \t";

bool is_name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (!first && c >= '0' && c <= '9');
}

std::string_view take_name(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_char(text[end], end == 0)) ++end;
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); }

/// One past the closing quote of the string that `text` begins with, npos if it is not closed.
std::size_t end_of_quoted(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

/// Length of the labels up to the closing brace, which may also stand inside quotes.
std::size_t length_of_labels(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '}') return at;
    if (text[at] != '"') {
      ++at;
      continue;
    }
    const std::size_t quoted = end_of_quoted(text.substr(at));
    if (quoted == std::string_view::npos) return quoted;
    at += quoted;
  }
  return std::string_view::npos;
}

std::optional<Sample> read_line(std::string_view line) {
  skip_blanks(line);
  Sample sample;
  sample.name = take_name(line);
  if (sample.name.empty()) return std::nullopt;
  skip_blanks(line);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    const std::size_t length = length_of_labels(line);
    if (length == std::string_view::npos) return std::nullopt;
    sample.labels = line.substr(0, length);
    line.remove_prefix(length + 1);
    skip_blanks(line);
  }
  sample.value_text = line.substr(0, line.find_first_of(" \t\r"));  // a timestamp may follow
  if (sample.value_text.empty()) return std::nullopt;
  return sample;
}

std::string unescaped(std::string_view quoted) {
  std::string out;
  for (std::size_t at = 0; at < quoted.size(); ++at) {
    if (quoted[at] != '\\' || at + 1 == quoted.size()) {
      out += quoted[at];
    } else {
      ++at;
      out += quoted[at] == 'n' ? '\n' : quoted[at];
    }
  }
  return out;
}

}  // namespace

std::optional<Sample> next_sample(std::string_view& page) {
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    if (line.starts_with('#')) continue;
    if (auto sample = read_line(line)) return sample;
  }
  return std::nullopt;
}

std::optional<std::string> label(std::string_view labels, std::string_view name) {
  while (true) {
    labels.remove_prefix(std::min(labels.find_first_not_of(" \t,"), labels.size()));
    const std::string_view found = take_name(labels);
    skip_blanks(labels);
    if (found.empty() || !labels.starts_with('=')) return std::nullopt;
    labels.remove_prefix(1);
    skip_blanks(labels);
    if (!labels.starts_with('"')) return std::nullopt;
    const std::size_t end = end_of_quoted(labels);
    if (end == std::string_view::npos) return std::nullopt;
    if (found == name) return unescaped(labels.substr(1, end - 2));
    labels.remove_prefix(end);
  }
}

std::optional<double> amount(std::string_view value_text) {
  if (value_text.starts_with('+')) value_text.remove_prefix(1);
  const auto value = parse_double(value_text);
  constexpr double exact_integers_end = 9007199254740992.0;  // 2^53
  if (!value || *value < 0 || *value > exact_integers_end) return std::nullopt;
  return value;
}

void Sum::add(std::optional<double> part) {
  any_ = true;
  if (part) {
    total_ += *part;
  } else {
    broken_ = true;
  }
}

std::optional<double> Sum::get() const {
  if (!any_ || broken_) return std::nullopt;
  return total_;
}

}  // namespace evenkeel::engines
