#include "report/chart.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::report {
namespace {

/// A small XML checker of its own: tags nest and close, attribute values are quoted, text holds no bare < or
/// &.
class XmlCheck {
 public:
  static std::string fault(const std::string& xml) {
    XmlCheck check(xml);
    check.at_ = xml.find("?>") + 2;
    while (check.fault_.empty() && check.at_ < xml.size()) check.step();
    if (check.fault_.empty() && !check.open_.empty()) return "left open: " + check.open_.back();
    return check.fault_;
  }

 private:
  explicit XmlCheck(const std::string& xml) : xml_(xml) {}

  void fail(const std::string& what) { fault_ = what + " at: " + xml_.substr(at_, 80); }

  bool take(std::string_view word) {
    if (xml_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  std::string take_name() {
    const auto end = xml_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", at_);
    auto name = xml_.substr(at_, end - at_);
    at_ = end;
    return name;
  }

  void step() {
    if (xml_[at_] == '&') {
      take_entity();
    } else if (take("</")) {
      if (open_.empty() || open_.back() != take_name() || !take(">")) return fail("wrong closing tag");
      open_.pop_back();
    } else if (take("<")) {
      take_tag();
    } else {
      ++at_;
    }
  }

  void take_entity() {
    for (const auto* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (take(entity)) return;
    }
    fail("bare ampersand");
  }

  void take_tag() {
    const auto name = take_name();
    if (name.empty()) return fail("no tag name");
    while (take(" ")) {
      if (take_name().empty() || !take("=\"")) return fail("attribute without a quoted value");
      const auto end = xml_.find_first_of("\"<&", at_);
      if (end == std::string::npos || xml_[end] != '"') return fail("bad attribute value");
      at_ = end + 1;
    }
    if (take("/>")) return;
    if (!take(">")) return fail("tag does not end");
    open_.push_back(name);
  }

  const std::string& xml_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::string fault_;
};

std::string xml_fault(const std::string& xml) { return XmlCheck::fault(xml); }

TEST(XmlCheck, SeesWhatIsWrong) {
  EXPECT_EQ(xml_fault("<?xml?><a b=\"c\"><d/>e &amp; f</a>"), "");
  for (const auto* bad : {"<?xml?><a>", "<?xml?></a>", "<?xml?><a>&</a>", "<?xml?><a b=c/>", "<?xml?><a b=\"<\"/>",
                          "<?xml?><a><b></a></b>", "<?xml?>< a/>"}) {
    EXPECT_NE(xml_fault(bad), "") << bad;
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Ticks, AreRoundAndCoverTheRange) {
  EXPECT_EQ(nice_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(nice_ticks(0, 97, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(nice_ticks(-3, 4, 7), (std::vector<double>{-3, -2, -1, 0, 1, 2, 3, 4}));
  for (const double scale : {1e-7, 1.0, 3.3, 12345.0, 1e9}) {
    for (const double low : {-2.0, 0.0, 0.7}) {
      const auto ticks = nice_ticks(low * scale, 5.1 * scale, 6);
      EXPECT_LE(ticks.front(), low * scale);
      EXPECT_GE(ticks.back(), 5.1 * scale);
      EXPECT_GE(ticks.size(), 4U);
      EXPECT_LE(ticks.size(), 12U);
    }
  }
  EXPECT_EQ(nice_ticks(5, 5, 6).size(), 1U);
}

TEST(Chart, LinesGoThroughTheirPointsAndGapsStayGaps) {
  LineChart chart{"t", {"x (s)"}, {"y"}, {}};
  chart.series.push_back({"one", {0, 5, 10}, {0, 50, 100}});
  chart.series.push_back({"two", {0, 1, 2, 3}, {1, std::nan(""), 3, 4}});
  const auto svg = to_svg(chart);
  EXPECT_EQ(xml_fault(svg), "");
  // Plot area: x 76 to 736, y 372 (low) to 48; both axes are 0 to their round ends.
  EXPECT_NE(svg.find("d=\"M76.00 372.00L406.00 210.00L736.00 48.00\""), std::string::npos) << svg;
  EXPECT_EQ(count(svg, "d=\"M"), 2U);
  EXPECT_NE(svg.find("M76.00 368.76M208.00 362.28L274.00 359.04"), std::string::npos) << svg;
  EXPECT_NE(svg.find("fill=\"#ffffff\""), std::string::npos);
}

TEST(Chart, LogAxesPlaceDecadesEvenly) {
  LineChart chart{"t", {"x", true}, {"y", true}, {{"s", {1, 10, 100, 0}, {1, 100, 10'000, 5}}}};
  const auto svg = to_svg(chart);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("d=\"M76.00 372.00L406.00 210.00L736.00 48.00\""), std::string::npos) << svg;
}

TEST(Chart, EcdfStepsThroughTheSortedSample) {
  EcdfChart chart{"t", {"x"}, {{"s", {30, 10, 20, 10, std::numeric_limits<double>::infinity()}}}};
  const auto svg = to_svg(chart);
  EXPECT_EQ(xml_fault(svg), "");
  // Shares 0, 1/4, 2/4, 3/4, 1 at x 10, 10, 20, 30: on axes 10 to 30 and 0 to 1.
  EXPECT_NE(svg.find("d=\"M76.00 372.00L76.00 291.00L76.00 291.00L76.00 210.00L406.00 210.00L406.00 129.00"
                     "L736.00 129.00L736.00 48.00\""),
            std::string::npos)
      << svg;
  EcdfChart many{"t", {"x"}, {{"s", {}}}};
  for (int i = 0; i < 100'000; ++i) many.samples[0].values.push_back(i);
  EXPECT_LT(to_svg(many).size(), 40'000U);
}

TEST(Chart, BarsStandOnZeroWithHeightsInProportion) {
  BarChart chart{"t", {"tokens/s"}, {"a", "b"}, {"round robin", "least wait"}, {{100, 50}, {75, -1}}};
  const auto svg = to_svg(chart);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("height=\"324.00\" fill=\"#0072B2\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("height=\"162.00\" fill=\"#0072B2\""), std::string::npos);
  EXPECT_NE(svg.find("height=\"243.00\" fill=\"#D55E00\""), std::string::npos);
  EXPECT_EQ(count(svg, "fill=\"#D55E00\""), 2U) << "one bar and the legend; the negative value is left out";
}

TEST(Chart, HostileNamesStayText) {
  const std::string evil = "<script>&\"'\x01]]>\xFF\xEF\xBF\xBF\xC3\xA9</svg>";
  LineChart chart{evil, {evil}, {evil}, {{evil, {1, 2}, {3, 4}}}};
  EXPECT_EQ(xml_fault(to_svg(chart)), "");
  BarChart bars{evil, {evil}, {evil}, {evil}, {{1}}};
  EXPECT_EQ(xml_fault(to_svg(bars)), "");
  EXPECT_EQ(escape_xml("a<b>&\"'\n\xFF\xC3\xA9\xEF\xBF\xBF"),
            "a&lt;b&gt;&amp;&quot;&#39; \xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD");
}

TEST(Chart, NothingToShowSaysSo) {
  EXPECT_NE(to_svg(LineChart{}).find("no data"), std::string::npos);
  EXPECT_NE(to_svg(EcdfChart{}).find("no data"), std::string::npos);
  EXPECT_NE(to_svg(BarChart{}).find("no data"), std::string::npos);
  LineChart one{"t", {"x"}, {"y"}, {{"s", {4}, {0}}}};
  const auto svg = to_svg(one);
  EXPECT_EQ(svg.find("nan"), std::string::npos) << "a single point has an axis too";
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::report
