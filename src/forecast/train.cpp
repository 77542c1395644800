#include "forecast/train.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "forecast/features.hpp"
#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

namespace {

class Collector final : public TimelineObserver {
 public:
  Collector(const TrainingOptions& options, Time split, std::uint64_t stride)
      : options_(options), split_(split), stride_(stride) {
    out_.within.width = feature_names.size();
    out_.remaining.width = feature_names.size();
  }

  void running(const fleet::FleetView& /*fleet*/, Time /*now*/) override {}
  void finished(const fleet::LeaseSummary& summary, Time now) override {
    if (now <= split_) ++out_.requests;
    features_.finished(summary);
  }
  void asked(std::size_t /*index*/, const fleet::RunningView& request, std::int64_t output, Time now) override {
    if (now + options_.timeline.per_token * options_.horizon > split_ || !features_.ready()) return;
    if (++asked_ % stride_ != 0) return;
    const FeatureRow row = features_.row(request);
    const std::int64_t remaining = output - request.generated;
    add(out_.within, row, remaining <= options_.horizon ? 1.0F : 0.0F);
    if (remaining <= options_.horizon) add(out_.remaining, row, static_cast<float>(remaining));
  }
  [[nodiscard]] TrainingSamples take() { return std::move(out_); }

 private:
  static void add(Samples& samples, const FeatureRow& row, float label) {
    samples.rows.insert(samples.rows.end(), row.begin(), row.end());
    samples.labels.push_back(label);
  }

  const TrainingOptions& options_;
  Time split_;
  std::uint64_t stride_;
  std::uint64_t asked_ = 0;
  Features features_;
  TrainingSamples out_;
};

template <class Number>
std::string out_of_range(std::string_view field, Number value, Number low, Number high) {
  return value >= low && value <= high ? "" : fmt::format("{} is {}; allowed: {} to {}", field, value, low, high);
}

}  // namespace

std::string fault_of(const TrainingOptions& options) {
  for (auto fault : {out_of_range<std::int64_t>("horizon", options.horizon, 1, longest_horizon),
                     out_of_range("split", options.share, 0.05, 1.0), fault_of(options.timeline),
                     out_of_range("trees", options.trees, 1, 2000), out_of_range("depth", options.depth, 1, 8),
                     out_of_range("learning-rate", options.learning_rate, 0.001, 1.0)}) {
    if (!fault.empty()) return fault;
  }
  return {};
}

TrainingSamples training_samples(std::span<const PastRequest> requests, const TrainingOptions& options) {
  const Time split = options.share < 1 ? time_of_split(requests, options.share) : Time::max();
  std::uint64_t most = 0;
  for (const PastRequest& request : requests) {
    if (Time(request.arrival) > split || request.output < 1) continue;
    most +=
        1 + static_cast<std::uint64_t>((std::min(request.output, LengthGrid::longest) - 1) / options.timeline.every);
  }
  const std::uint64_t stride = 1 + most / std::max<std::uint64_t>(options.most_samples, 1);
  Collector collector(options, split, stride);
  run_timeline(requests, options.timeline, collector);
  return collector.take();
}

Result<LearnedModel> train(std::span<const PastRequest> requests, const TrainingOptions& options) {
  if (auto fault = fault_of(options); !fault.empty()) return failure(std::move(fault));
  const TrainingSamples samples = training_samples(requests, options);
  const auto ends = samples.remaining.labels.size();
  const auto asked = samples.within.labels.size();
  constexpr std::size_t least = 50;
  if (ends < least || asked - ends < least) {
    return failure(fmt::format(
        "too little to train with: of {} questions before the split, {} have an end within the horizon of {} tokens; "
        "needed: at least {} with and {} without",
        asked, ends, options.horizon, least, least));
  }
  auto xgboost = Xgboost::load();
  if (!xgboost) return tl::unexpected(xgboost.error());
  const auto fit = [&](const Samples& from, BoostedTrees::Link link) -> Result<BoostedTrees> {
    const BoostingOptions boosting{options.trees, options.depth, options.learning_rate, link};
    if (auto done = xgboost->fit(from, boosting); !done) return tl::unexpected(done.error());
    const auto json = xgboost->json();
    if (!json) return tl::unexpected(json.error());
    return trees_of_xgboost_json(*json, feature_names.size());
  };
  auto within = fit(samples.within, BoostedTrees::Link::logistic);
  if (!within) return tl::unexpected(within.error());
  auto remaining = fit(samples.remaining, BoostedTrees::Link::identity);
  if (!remaining) return tl::unexpected(remaining.error());
  return LearnedModel{options.horizon, samples.requests, asked, std::move(*within), std::move(*remaining)};
}

}  // namespace evenkeel::forecast
