#include "workload/laws.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::workload {

namespace {

tl::unexpected<Error> bad_length(std::string_view text, std::string_view why) {
  return failure(
      fmt::format("length law \"{}\": {}; allowed: fixed:N, uniform:A:B, lognormal:MEAN:CV[:CAP]", text, why));
}

/// A token count from 1, or nothing.
std::optional<std::int64_t> tokens(std::string_view text) {
  const auto value = parse_unsigned(text);
  if (!value || *value < 1 || *value > static_cast<std::uint64_t>(most_tokens)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace

Result<LengthLaw> LengthLaw::parse(std::string_view text) {
  const auto parts = split(text, ':');
  LengthLaw law;
  if (parts[0] == "fixed" && parts.size() == 2) {
    const auto n = tokens(parts[1]);
    if (!n) return bad_length(text, fmt::format("N must be 1 to {}", most_tokens));
    law.low_ = *n;
    return law;
  }
  if (parts[0] == "uniform" && parts.size() == 3) {
    const auto a = tokens(parts[1]);
    const auto b = tokens(parts[2]);
    if (!a || !b || *a > *b) return bad_length(text, fmt::format("A and B must be 1 to {}, A at most B", most_tokens));
    law.kind_ = Kind::uniform;
    law.low_ = *a;
    law.high_ = *b;
    return law;
  }
  if (parts[0] == "lognormal" && (parts.size() == 3 || parts.size() == 4)) {
    const auto mean = parse_double(parts[1]);
    const auto cv = parse_double(parts[2]);
    const auto cap = parts.size() == 4 ? tokens(parts[3]) : std::optional(most_tokens);
    if (!mean || *mean < 1 || *mean > static_cast<double>(most_tokens)) {
      return bad_length(text, fmt::format("MEAN must be 1 to {}", most_tokens));
    }
    if (!cv || *cv < 0 || *cv > 100) return bad_length(text, "CV must be 0 to 100");
    if (!cap) return bad_length(text, fmt::format("CAP must be 1 to {}", most_tokens));
    law.kind_ = Kind::lognormal;
    law.mean_ = *mean;
    law.cv_ = *cv;
    law.high_ = *cap;
    return law;
  }
  return bad_length(text, "no such form");
}

std::int64_t LengthLaw::draw(Random& random) const {
  switch (kind_) {
    case Kind::fixed: return low_;
    case Kind::uniform:
      return low_ + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high_ - low_) + 1));
    case Kind::lognormal: break;
  }
  const double drawn = std::min(random.lognormal(mean_, cv_), static_cast<double>(high_));
  return std::max<std::int64_t>(1, std::llround(drawn));
}

Result<ArrivalLaw> ArrivalLaw::parse(std::string_view text) {
  ArrivalLaw law;
  if (text == "poisson") return law;
  const auto parts = split(text, ':');
  if (parts[0] == "gamma" && parts.size() == 2) {
    const auto cv = parse_double(parts[1]);
    if (cv && *cv >= 0.01 && *cv <= 100) {
      law.shape_ = 1 / (*cv * *cv);
      return law;
    }
    return failure(fmt::format("arrival law \"{}\": CV must be 0.01 to 100", text));
  }
  return failure(fmt::format("arrival law \"{}\": no such form; allowed: poisson, gamma:CV", text));
}

double ArrivalLaw::draw(double mean, Random& random) const {
  return shape_ == 1 ? random.exponential(mean) : random.gamma(shape_, mean / shape_);
}

double ArrivalLaw::draw_first(double mean, Random& random) const {
  // A gamma law weighted by length is the gamma law of one more in shape.
  return random.unit() * random.gamma(shape_ + 1, mean / shape_);
}

}  // namespace evenkeel::workload
