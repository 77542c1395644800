#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "forecast/forecast.hpp"
#include "forecast/guard.hpp"
#include "forecast/history.hpp"
#include "forecast/history_file.hpp"
#include "forecast/registry.hpp"

namespace evenkeel::forecast {

/// What a forecast of one model knows and how well it does.
struct ForecastStatus {
  ModelId model;
  std::size_t ended = 0;  ///< requests in its history
  std::optional<GuardFigures> guard;
};

/// A forecast for each model, so that what one model's requests are like teaches nothing about another's, each guarded
/// if so wanted, and the history of what each has learned from, to be taught again. A model beyond the first
/// `most_models` shares one forecast with all others of these, and has neither history nor status.
class ByModel final : public Forecast {
 public:
  struct Options {
    std::int64_t guard_tokens = 0;  ///< what guards ask about; 0: none
    std::size_t history = history_length;
  };
  ByModel(ForecastMaker make, const Options& options) : make_(std::move(make)), options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "by_model"; }
  /// Of a model that nothing was told of: no knowledge.
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    const Entry* const entry = find(request.model);
    return entry == nullptr ? static_cast<double>(horizon) : entry->forecast->remaining(request, horizon);
  }
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t tokens) const override {
    const Entry* const entry = find(request.model);
    return entry == nullptr ? 1 : entry->forecast->survival(request, tokens);
  }
  void finished(const fleet::LeaseSummary& summary, Time now) override;
  /// Tells the forecast of the fleet's model, whose requests are all there; of others' some may be elsewhere.
  void running(const fleet::FleetView& fleet, Time now) override;

  /// Teaches what requests of an earlier run were like. Cost: that of a finished() each.
  void recall(ModelId model, std::span<const EndedRequest> ended);
  /// The last that ended, oldest first; nothing of a model without history.
  void copy_history(ModelId model, std::vector<EndedRequest>& to) const;
  [[nodiscard]] std::vector<ForecastStatus> statuses() const;

 private:
  struct Entry {
    ModelId model;
    std::shared_ptr<Forecast> forecast;
    Guard* guard = nullptr;  ///< the same, if guarded
    History history{1};
  };
  /// Its own, or null.
  [[nodiscard]] Entry* own(ModelId model) const;
  /// Its own, else that of all others, if there is one.
  [[nodiscard]] const Entry* find(ModelId model) const;
  Entry& of(ModelId model);
  [[nodiscard]] Entry make_entry(ModelId model) const;

  ForecastMaker make_;
  Options options_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unique_ptr<Entry> others_;
  mutable const Entry* last_ = nullptr;  ///< found; most questions are about the model of the one before
  std::vector<fleet::WorkerView> workers_;
  std::vector<fleet::RunningView> running_;
};

}  // namespace evenkeel::forecast
