#pragma once

#include <cstddef>
#include <string_view>

namespace evenkeel::http {

/// Finds where server-sent events end in a byte stream (WHATWG HTML, "Server-sent events"): a blank line, with
/// LF, CRLF or CR as line ends, wherever the reads happened to cut. Keeps three flags and no bytes.
class EventBoundaries {
 public:
  /// Offset just behind the next event end in `bytes` at or after `from`, or npos. Call with `from` = the last
  /// result until npos, then with the next bytes from 0.
  std::size_t next(std::string_view bytes, std::size_t from);

  static constexpr std::size_t npos = std::string_view::npos;

 private:
  bool line_empty_ = true;  ///< nothing since the last line end
  bool any_line_ = false;   ///< the event has had a line that is not empty
  bool after_cr_ = false;   ///< a CR was seen and a LF right behind it belongs to it
};

/// The parts of one event (the bytes between two boundaries) that a relay looks at. Only the first data line is
/// taken: every engine sends one, and clients join several with LF.
struct EventView {
  std::string_view name;  ///< of "event:", else empty
  std::string_view data;  ///< of the first "data:"
  bool comment_only = true;
};
[[nodiscard]] EventView view_event(std::string_view event);

}  // namespace evenkeel::http
