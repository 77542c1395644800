#include "peers/rates.hpp"

#include <fmt/format.h>

namespace evenkeel::peers {

PublishedRates read_rates(std::span<const fleet::RatePoint> said, std::int64_t clamp) {
  if (said.size() > most_rate_points) {
    return {{}, fmt::format("rates refused: {} points, at most {} are allowed", said.size(), most_rate_points)};
  }
  double below = 0;
  for (const fleet::RatePoint& point : said) {
    const bool level = point.level >= 1 && point.level <= static_cast<double>(clamp) && point.level > below;
    if (!level) {
      return {{},
              fmt::format("rates refused: level {} after {}; ascending ones from 1 to {} are allowed", point.level,
                          below, clamp)};
    }
    if (!(point.rate > 0 && point.rate <= most_rate)) {
      return {{},
              fmt::format("rates refused: {} tokens a second at level {}; over 0 and up to {:.0f} is allowed",
                          point.rate, point.level, most_rate)};
    }
    below = point.level;
  }
  return {{said.begin(), said.end()}, {}};
}

}  // namespace evenkeel::peers
