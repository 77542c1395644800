#include "http/sse.hpp"

#include <cstring>

namespace evenkeel::http {

std::size_t EventBoundaries::next(std::string_view bytes, std::size_t from) {
  std::size_t at = from;
  while (at < bytes.size()) {
    const char c = bytes[at];
    if (c == '\n' && after_cr_) {  // second half of CRLF
      after_cr_ = false;
      ++at;
      continue;
    }
    after_cr_ = false;
    if (c == '\n' || c == '\r') {
      after_cr_ = c == '\r';
      ++at;
      if (!line_empty_) {
        line_empty_ = true;
        continue;
      }
      if (!any_line_) continue;  // blank lines between events belong to the next one
      any_line_ = false;
      if (after_cr_ && at < bytes.size() && bytes[at] == '\n') {
        after_cr_ = false;
        ++at;
      }
      return at;
    }
    // Inside a line: jump to its end. Engines end lines with LF; a CR before it is found by the short scan.
    line_empty_ = false;
    any_line_ = true;
    const char* const begin = bytes.data() + at;
    const auto rest = bytes.size() - at;
    const auto* lf = static_cast<const char*>(std::memchr(begin, '\n', rest));
    const auto span = lf == nullptr ? rest : static_cast<std::size_t>(lf - begin);
    const auto* cr = static_cast<const char*>(std::memchr(begin, '\r', span));
    at += cr == nullptr ? span : static_cast<std::size_t>(cr - begin);
  }
  return npos;
}

namespace {
/// Where the first line of `text` ends: at LF or CR, or npos. Two vectorised searches; find_first_of is one call a
/// byte.
std::size_t line_end(std::string_view text) {
  const auto* lf = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  const auto span = lf == nullptr ? text.size() : static_cast<std::size_t>(lf - text.data());
  const auto* cr = static_cast<const char*>(std::memchr(text.data(), '\r', span));
  if (cr != nullptr) return static_cast<std::size_t>(cr - text.data());
  return lf == nullptr ? std::string_view::npos : span;
}
}  // namespace

EventView view_event(std::string_view event) {
  EventView view;
  while (!event.empty()) {
    const auto end = line_end(event);
    std::string_view line = event.substr(0, end);
    event.remove_prefix(end == std::string_view::npos ? event.size() : end + 1);
    if (line.empty() || line.front() == ':') continue;
    view.comment_only = false;
    const auto take = [&line](std::string_view name, std::string_view& into) {
      if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') return;
      line.remove_prefix(name.size() + 1);
      if (line.starts_with(' ')) line.remove_prefix(1);
      if (into.empty()) into = line;
    };
    if (line.front() == 'd') {
      take("data", view.data);
    } else if (line.front() == 'e') {
      take("event", view.name);
    }
  }
  return view;
}

}  // namespace evenkeel::http
