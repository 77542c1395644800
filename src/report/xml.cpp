#include "report/chart.hpp"
#include "report/utf8.hpp"

namespace evenkeel::report {

std::string escape_xml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char* from = text.data();
    const std::size_t before = text.size();
    const char32_t c = take_code_point(text);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case replacement:
      case 0xFFFE:
      case 0xFFFF: out += "\xEF\xBF\xBD"; break;  // the last two are no XML characters
      default:
        if (c < 0x20 || c == 0x7F) {
          out += ' ';
        } else {
          out.append(from, before - text.size());
        }
    }
  }
  return out;
}

}  // namespace evenkeel::report
