// br0 and brh from their parameters.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "routing/br.hpp"
#include "routing/make_departures.hpp"

namespace evenkeel::routing {

namespace {

constexpr std::int64_t longest_window = 4096;

Result<void> read_window(Parameters& parameters, Br::Options& options) {
  const std::string_view window = parameters.text("window", "4");
  if (window == "all") {
    options.window = Br::whole_pool;
  } else {
    const auto count = parse_unsigned(window);
    if (!count || *count < 1 || *count > longest_window) {
      return failure(fmt::format("policy \"{}\": window is \"{}\" (allowed: whole numbers 1 to {}, all)", options.name,
                                 window, longest_window));
    }
    options.window = static_cast<std::size_t>(*count);
  }
  static constexpr std::string_view ways[] = {"enumerate", "reachable", ""};
  const bool small = options.window <= SubsetSearch::enumeration_limit;
  const std::string_view way = parameters.word("subset", "", std::span(ways).first(2));
  if (way == "enumerate" && !small) {
    return failure(
        fmt::format("policy \"{}\": subset is enumerate, but window is {} (allowed: enumerate with windows up "
                    "to {}, reachable)",
                    options.name, window, SubsetSearch::enumeration_limit));
  }
  const bool enumerate = way.empty() ? small : way == "enumerate";
  options.subset = enumerate ? Br::Subset::enumerate : Br::Subset::reachable;
  return {};
}

Result<Br::Options> read_options(std::string_view name, Parameters& parameters) {
  Br::Options options;
  options.name = name;
  if (auto fine = read_window(parameters, options); !fine) return tl::unexpected(fine.error());
  options.greedy = parameters.integer("greedy", options.greedy, 0, 64);
  return options;
}

}  // namespace

Result<std::unique_ptr<Policy>> make_br0(Parameters& parameters, const PolicyParts&) {
  auto options = read_options("br0", parameters);
  if (!options) return tl::unexpected(options.error());
  options->beta = parameters.number("beta", 0, 1, 1e6);
  return std::make_unique<Br>(*options, Departures(nullptr, 0, 1));
}

Result<std::unique_ptr<Policy>> make_brh(Parameters& parameters, const PolicyParts& parts) {
  auto options = read_options("brh", parameters);
  if (!options) return tl::unexpected(options.error());
  options->beta = parameters.number("beta", 43, 1, 1e6);
  options->gamma = parameters.number("gamma", 0.86, 0.001, 1);
  const std::int64_t horizon = read_horizon(parameters);
  const std::int64_t refresh =
      parameters.integer("refresh", std::max<std::int64_t>(1, horizon), 1, std::max<std::int64_t>(1, horizon));
  auto departures = make_departures(parameters, parts, horizon, refresh);
  if (!departures) return tl::unexpected(departures.error());
  return std::make_unique<Br>(*options, std::move(*departures));
}

}  // namespace evenkeel::routing
