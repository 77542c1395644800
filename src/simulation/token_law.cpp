#include "simulation/token_law.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::simulation {

namespace {

/// The largest count that a law of LengthLaw's forms names, or 0 if it names none.
std::int64_t largest_named(std::string_view text) {
  const auto parts = split(text, ':');
  const bool open = parts[0] == "lognormal" && parts.size() < 4;
  const auto value = open ? std::optional<std::uint64_t>() : parse_unsigned(parts.back());
  return value ? static_cast<std::int64_t>(std::min<std::uint64_t>(*value, workload::most_tokens)) : 0;
}

}  // namespace

Result<TokenLaw> TokenLaw::parse(std::string_view field, std::string_view text, std::int64_t cap) {
  TokenLaw law;
  law.text_ = text;
  law.cap_ = cap;
  const auto parts = split(text, ':');
  if (parts[0] == "geometric") {
    const auto stop = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
    if (!stop || *stop < 1e-6 || *stop > 1) {
      return failure(fmt::format("{}: length law \"{}\": allowed is geometric:P with P of 0.000001 to 1", field, text));
    }
    law.stop_ = *stop;
    return law;
  }
  auto lengths = workload::LengthLaw::parse(text);
  if (!lengths) return failure(fmt::format("{}: {}, geometric:P", field, lengths.error().message));
  law.lengths_ = *lengths;
  if (const auto largest = largest_named(text); largest > cap) {
    return failure(
        fmt::format("{}: length law \"{}\" goes up to {} tokens; allowed: 1 to {}", field, text, largest, cap));
  }
  if (parts[0] == "lognormal" && parse_double(parts[1]).value_or(0) > static_cast<double>(cap)) {
    return failure(fmt::format("{}: length law \"{}\" has a mean over the cap; allowed: 1 to {}", field, text, cap));
  }
  return law;
}

std::int64_t TokenLaw::draw(Random& random) const {
  if (stop_ == 0) return std::min(lengths_.draw(random), cap_);
  if (stop_ == 1) return 1;
  const double steps = std::floor(std::log1p(-random.unit()) / std::log1p(-stop_));
  return 1 + static_cast<std::int64_t>(std::min(steps, static_cast<double>(cap_ - 1)));
}

double TokenLaw::mean() const {
  constexpr int draws = 1 << 17;
  Random random(20'240'229);
  double sum = 0;
  for (int i = 0; i < draws; ++i) sum += static_cast<double>(draw(random));
  return sum / draws;
}

}  // namespace evenkeel::simulation
