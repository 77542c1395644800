#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "report/numbers.hpp"
#include "report/scale.hpp"

namespace evenkeel::report {

namespace {

constexpr double width = 760;
constexpr double left = 76;
constexpr double right = width - 24;
constexpr double top = 48;
constexpr double bottom = 372;
constexpr double legend_top = bottom + 62;
constexpr double legend_row = 20;
constexpr double letter = 7.2;  // pixels a column of 12-pixel text takes, generously

struct Look {
  const char* colour;
  const char* dashes;
};
constexpr std::array<Look, 7> looks = {{{"#0072B2", "none"},
                                        {"#D55E00", "7 3"},
                                        {"#009E73", "2 2"},
                                        {"#CC79A7", "9 3 2 3"},
                                        {"#56B4E9", "none"},
                                        {"#B8860B", "5 2"},
                                        {"#333333", "3 3"}}};
const Look& look(std::size_t i) { return looks[i % looks.size()]; }

/// Builds one SVG text.
class Drawing {
 public:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
    body_ += '\n';
  }

  void text(double x, double y, const char* anchor, std::string_view words, const char* more = "") {
    put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>", x, y, anchor, more, escape_xml(words));
  }

  void frame(std::string_view title, std::string_view x_title, std::string_view y_title) {
    text((left + right) / 2, 26, "middle", title, " font-size=\"16\" font-weight=\"bold\"");
    text((left + right) / 2, bottom + 42, "middle", x_title);
    const double middle = (top + bottom) / 2;
    text(18, middle, "middle", y_title, fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle).c_str());
  }

  void y_axis(const Scale& y) {
    for (const double tick : y.ticks()) {
      const double at = y.px(tick);
      put("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>", left, at, right, at);
      text(left - 8, at + 4, "end", short_number(tick));
    }
    put("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#333333\"/>", left, top, bottom);
  }

  void x_axis(const Scale& x) {
    for (const double tick : x.ticks()) {
      const double at = x.px(tick);
      put("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#333333\"/>", at, bottom,
          bottom + 5);
      text(at, bottom + 20, "middle", short_number(tick));
    }
    base_line();
  }

  void base_line() {
    put("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"#333333\"/>", left, bottom, right);
  }

  /// Rows as wide as the chart; a long name gets a row of its own.
  void legend(const std::vector<std::string>& names, bool lines) {
    double x = left;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double wide = 34 + letter * display_width(names[i]) + 18;
      if (x > left && x + wide > right) {
        x = left;
        ++legend_rows_;
      }
      const double y = legend_top + legend_row * legend_rows_;
      if (lines) {
        put("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2\" "
            "stroke-dasharray=\"{}\"/>",
            x, y - 4, x + 26, y - 4, look(i).colour, look(i).dashes);
      } else {
        put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"12\" fill=\"{}\"/>", x + 6, y - 10, look(i).colour);
      }
      text(x + 34, y, "start", names[i]);
      x += wide;
    }
  }

  void no_data() { text((left + right) / 2, (top + bottom) / 2, "middle", "no data"); }

  [[nodiscard]] std::string finish() const {
    const double height = legend_top + legend_row * legend_rows_ + 20;
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
        "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
        width, height, body_);
  }

 private:
  std::string body_;
  int legend_rows_ = 0;
};

/// A line through the points that both axes show; a gap where one is not shown.
void draw_line(Drawing& drawing, const Series& series, const Look& as, const Extent& xs, const Scale& x,
               const Extent& ys, const Scale& y) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (!xs.shows(series.x[i]) || !ys.shows(series.y[i])) {
      pen_down = false;
      continue;
    }
    fmt::format_to(std::back_inserter(path), "{}{:.2f} {:.2f}", pen_down ? 'L' : 'M', x.px(series.x[i]),
                   y.px(series.y[i]));
    pen_down = true;
  }
  if (path.empty()) return;
  drawing.put(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\" "
      "stroke-linecap=\"round\" stroke-dasharray=\"{}\"/>",
      path, as.colour, as.dashes);
}

}  // namespace

std::string to_svg(const LineChart& chart) {
  Drawing drawing;
  drawing.frame(chart.title, chart.x.title, chart.y.title);
  Extent xs(chart.x.log);
  Extent ys(chart.y.log);
  std::vector<std::string> names;
  for (const auto& series : chart.series) {
    names.push_back(series.name);
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!xs.shows(series.x[i]) || !ys.shows(series.y[i])) continue;
      xs.add(series.x[i]);
      ys.add(series.y[i]);
    }
  }
  if (xs.empty()) {
    drawing.no_data();
    return drawing.finish();
  }
  // A linear axis starts at 0 unless the values lie far from it.
  const bool from_zero = !chart.y.log && ys.low() > 0 && ys.low() < ys.high() / 2;
  const Scale x(xs.low(), xs.high(), chart.x.log, left, right);
  const Scale y(from_zero ? 0 : ys.low(), ys.high(), chart.y.log, bottom, top);
  drawing.y_axis(y);
  drawing.x_axis(x);
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_line(drawing, chart.series[i], look(i), xs, x, ys, y);
  drawing.legend(names, true);
  return drawing.finish();
}

std::string to_svg(EcdfChart chart) {
  constexpr std::size_t most_steps = 500;
  LineChart lines{std::move(chart.title), std::move(chart.x), {"share at most this", false}, {}};
  const Extent shown(lines.x.log);
  for (auto& sample : chart.samples) {
    auto& values = sample.values;
    std::erase_if(values, [&](double v) { return !shown.shows(v); });
    std::sort(values.begin(), values.end());
    Series series{std::move(sample.name), {}, {}};
    const std::size_t n = values.size();
    const std::size_t steps = std::min(n, most_steps);
    double reached = 0;
    for (std::size_t k = 1; k <= steps; ++k) {
      const std::size_t rank = n * k / steps;  // the rank-th smallest; the last is n
      series.x.insert(series.x.end(), {values[rank - 1], values[rank - 1]});
      series.y.insert(series.y.end(), {reached, static_cast<double>(rank) / static_cast<double>(n)});
      reached = series.y.back();
    }
    lines.series.push_back(std::move(series));
  }
  return to_svg(lines);
}

std::string to_svg(const BarChart& chart) {
  Drawing drawing;
  drawing.frame(chart.title, "", chart.y.title);
  Extent ys(false);
  const auto shows = [&](double v) { return ys.shows(v) && v >= 0; };
  for (const auto& row : chart.values) {
    for (const double v : row) {
      if (shows(v)) ys.add(v);
    }
  }
  if (ys.empty() || chart.groups.empty()) {
    drawing.no_data();
    return drawing.finish();
  }
  const Scale y(0, ys.high(), false, bottom, top);
  drawing.y_axis(y);
  const double group_wide = (right - left) / static_cast<double>(chart.groups.size());
  const double bar_wide = group_wide * 0.8 / static_cast<double>(std::max<std::size_t>(1, chart.values.size()));
  for (std::size_t s = 0; s < chart.values.size(); ++s) {
    for (std::size_t g = 0; g < std::min(chart.groups.size(), chart.values[s].size()); ++g) {
      const double value = chart.values[s][g];
      if (!shows(value)) continue;
      const double x = left + group_wide * (static_cast<double>(g) + 0.1) + bar_wide * static_cast<double>(s);
      drawing.put("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>", x, y.px(value),
                  bar_wide * 0.94, bottom - y.px(value), look(s).colour);
      if (bar_wide > 30)
        drawing.text(x + bar_wide * 0.47, y.px(value) - 4, "middle", short_number(value), " font-size=\"10\"");
    }
  }
  drawing.base_line();
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    drawing.text(left + group_wide * (static_cast<double>(g) + 0.5), bottom + 20, "middle", chart.groups[g]);
  }
  drawing.legend(chart.series, false);
  return drawing.finish();
}

}  // namespace evenkeel::report
