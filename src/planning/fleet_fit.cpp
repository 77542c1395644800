#include "planning/fleet_fit.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace evenkeel::planning {

namespace {

void add_obstacle(FleetFit& fit, std::string_view what, const Fitted& value) {
  if (!value) fit.obstacles.push_back(fmt::format("{}: {}", what, value.error().message));
}

/// The tail's mean and what memory stands on are finite only over 1 and 2, unless something cuts it off.
void judge_tail(FleetFit& fit) {
  if (!fit.lengths.tail) return;
  const auto& tail = *fit.lengths.tail;
  const bool capped = fit.lengths.cap > 0;
  if (tail.index <= 2 && !capped) {
    fit.obstacles.push_back(
        fmt::format("tail index {:.3g} is at or under 2: the memory that such requests hold has no finite mean; say "
                    "where the context "
                    "ends (--context-tokens)",
                    tail.index));
  } else if (tail.interval.low <= 2 && !capped) {
    fit.warnings.push_back(fmt::format(
        "the tail index is not told from 2 (95 %: {:.3g} to {:.3g}), under which the memory held has no finite "
        "mean: say where the context ends (--context-tokens)",
        tail.interval.low, tail.interval.high));
  }
  if (tail.against_exponential < -2) {
    fit.warnings.push_back(
        fmt::format("an exponential law fits the longest better than a power law (Vuong's z = {:.1f}): the index says "
                    "how they look in "
                    "this sample, not how longer ones will",
                    tail.against_exponential));
  }
}

void judge(FleetFit& fit) {
  add_obstacle(fit, "rate", fit.arrivals.rate);
  add_obstacle(fit, "dispersion", fit.arrivals.dispersion_about_drift);
  add_obstacle(fit, "tail", fit.lengths.tail_index);
  add_obstacle(fit, "duration", fit.lengths.duration);
  add_obstacle(fit, "memory", fit.lengths.growth_gb_per_s);
  judge_tail(fit);
  if (fit.lengths.peaks && !fit.lengths.peaks->one_peak()) {
    fit.warnings.push_back(
        fmt::format("durations have more than one peak (Silverman's p = {:.2g} on their logarithms): kinds of requests "
                    "that are better "
                    "fitted apart (--heavy-tokens, or a log of one model)",
                    fit.lengths.peaks->p_value));
  }
  const double context = fit.options.context_tokens;
  const auto over = std::ranges::count_if(
      fit.heavy, [=](const Observation& seen) { return seen.prompt_tokens + seen.output_tokens > context; });
  if (context > 0 && over > 0) {
    fit.warnings.push_back(
        fmt::format("{} requests hold more than the context of {} tokens, which cannot be", over, context));
  }
  const auto& stretches = fit.arrivals.stretches;
  if (stretches.size() > 1) {
    fit.warnings.push_back(fmt::format("changes of the rate: {}; since window {} it is {:.4g} a second",
                                       stretches.size() - 1, stretches.back().first + 1,
                                       stretches.back().mean / fit.options.window_s));
  }
}

}  // namespace

std::vector<FleetFit::Row> FleetFit::rows() const {
  return {{"rate_per_s", "1/s", &arrivals.rate},
          {"recent_rate_per_s", "1/s", &arrivals.recent_rate},
          {"dispersion", "", &arrivals.dispersion},
          {"dispersion_about_drift", "", &arrivals.dispersion_about_drift},
          {"correlation", "", &arrivals.correlation},
          {"correlation_of_pairs", "", &arrivals.correlation_of_pairs},
          {"prompt_tokens", "tokens", &lengths.prompt_tokens},
          {"output_tokens", "tokens", &lengths.output_tokens},
          {"token_s", "s", &lengths.token_s},
          {"duration_s", "s", &lengths.duration},
          {"tail_index", "", &lengths.tail_index},
          {"prompt_gb", "GB", &lengths.prompt_gb},
          {"growth_gb_per_s", "GB/s", &lengths.growth_gb_per_s},
          {"window_gb", "GB", &lengths.window_gb}};
}

Result<FleetFit> fit_fleet(std::span<const Observation> observations, double span_s, const FitOptions& options) {
  if (auto sound = options.check(); !sound) return tl::unexpected(sound.error());
  if (auto sound = check(observations); !sound) return tl::unexpected(sound.error());
  if (!(span_s >= 0 && span_s <= 1e9)) return failure(fmt::format("the span is {} s; allowed: 0 to 1e9", span_s));
  FleetFit fit;
  fit.options = options;
  fit.requests = observations.size();
  fit.heavy = heavy_ones(observations, options);
  if (fit.heavy.empty()) {
    return failure(fmt::format("none of {} requests has at least {} output tokens", fit.requests,
                               std::max(1.0, options.heavy_tokens)));
  }
  fit.arrivals = fit_arrivals(fit.heavy, span_s, options);
  fit.lengths = fit_lengths(fit.heavy, options);
  judge(fit);
  return fit;
}

namespace {

/// Nearly all at its mean: a power law of an index so high that it has no tail.
DurationPart around(double mean, double weight) {
  constexpr double steep = 50;
  return {.kind = DurationPart::Kind::pareto,
          .weight = weight,
          .minimum_s = mean * (steep - 1) / steep,
          .tail_index = steep};
}

/// The power law over its threshold, under it classes of about equal weight, each around its mean.
DurationLaw duration_law(const LengthFit& lengths) {
  constexpr int classes = 16;
  const auto& sample = *lengths.sample;
  const auto& tail = *lengths.tail;
  const double share = sample.survival(tail.k);
  DurationLaw law = DurationLaw::pareto(tail.threshold, tail.index);
  if (lengths.cap > 0) law.cap_s = lengths.cap;
  law.parts.front().weight = share;
  double left = 1;  // longer than the values so far
  double mass = 0;
  double moment = 0;
  for (std::size_t i = sample.values().size(); i-- > tail.k;) {
    const double of_value = left - sample.survival(i);
    left = sample.survival(i);
    mass += of_value;
    moment += of_value * sample.values()[i].value;
    if (mass > 0 && (mass >= (1 - share) / classes || i == tail.k)) {
      law.parts.push_back(around(moment / mass, mass));
      mass = moment = 0;
    }
  }
  return law;
}

}  // namespace

Result<FleetPlan> plan_of(const FleetFit& fit, std::int64_t nodes, double capacity_gb) {
  if (!fit.obstacles.empty()) return failure(fit.obstacles.front());
  const double gb = fit.options.kv_bytes / 1e9;
  std::vector<double> prompts;
  for (const auto& seen : fit.heavy) prompts.push_back(seen.prompt_tokens);
  std::ranges::sort(prompts);

  FleetPlan plan;
  plan.scale_time_s = fit.options.window_s;
  const double spread = fit.arrivals.dispersion_about_drift->value;
  plan.correlation = spread > 1 ? (spread - 1) / (spread - 1 + static_cast<double>(nodes)) : 0;
  plan.sequence_gb = gb * (fit.lengths.prompt_tokens->value + fit.lengths.output_tokens->value);
  Group group{"fitted", nodes, {capacity_gb}, {}};
  const DurationLaw law = duration_law(fit.lengths);
  const double rate = fit.arrivals.rate->value / static_cast<double>(nodes);
  for (std::size_t i = 0; i < prompt_classes; ++i) {
    const std::size_t from = i * prompts.size() / prompt_classes;
    const std::size_t to = (i + 1) * prompts.size() / prompt_classes;
    const auto part = std::span(prompts).subspan(from, to - from);
    if (part.empty()) continue;
    const auto size = static_cast<double>(part.size());
    const double prompt = std::accumulate(part.begin(), part.end(), 0.0) / size;
    plan.models.push_back({fmt::format("prompts-{}", i + 1), law, {{prompt * gb, fit.lengths.growth_gb_per_s->value}}});
    group.rate_per_node_s.push_back(rate * size / static_cast<double>(prompts.size()));
  }
  plan.groups.push_back(std::move(group));
  if (auto sound = plan.check(); !sound) return tl::unexpected(sound.error());
  return plan;
}

}  // namespace evenkeel::planning
