#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "forecast/forecast.hpp"

namespace evenkeel::forecast {

/// How well a forecast has done lately. Means over questions that were settled, each counting half after
/// Guard::half_life later ones.
struct GuardFigures {
  double settled = 0;     ///< questions, by what they count now
  double brier = 0;       ///< mean squared error of the forecast's P(r > t)
  double base_brier = 0;  ///< that of always saying the share that was still running so far
  bool fallen_back = false;

  [[nodiscard]] bool judged() const;
  /// 1 - brier / base_brier, the Brier skill score: 1 knows all, 0 no more than the share, below 0 misleads.
  [[nodiscard]] double skill() const { return base_brier > 0 ? 1 - brier / base_brier : 0; }
};

/// Measures a forecast while it is used and stands in for it when it misleads. Of some requests in service it asks
/// whether they will run for more than `tokens` further tokens, waits for what comes true, and compares with somebody
/// who knows but the share of those that did.
///
///  - Fewer than `least` questions settled: the forecast is believed.
///  - Skill below `misleads`, by two wrong answers at least: it is not. Then it answers as with no knowledge: a policy
///    that looks ahead sees the present load go on. The forecast goes on learning and being measured.
///  - Skill above 0: it is believed again.
///
/// A forecast of a law about which nothing can be known has skill 0 and is kept: what chance makes of 100
/// questions stays well above the threshold. Broken-off requests settle nothing.
///
/// Cost: a question that of the forecast; running() a look at all in service once in `ends_between` ended requests.
class Guard final : public Forecast {
 public:
  static constexpr double least = 100;
  static constexpr double misleads = -0.05;
  static constexpr double half_life = 1000;      ///< settled questions
  static constexpr std::size_t questions = 512;  ///< open at once
  static constexpr std::uint64_t ends_between = 16;

  /// tokens >= 1
  Guard(std::shared_ptr<Forecast> forecast, std::int64_t tokens);

  [[nodiscard]] std::string_view name() const override { return forecast_->name(); }
  [[nodiscard]] double remaining(const fleet::RunningView& request, std::int64_t horizon) const override {
    return fallen_back_ ? static_cast<double>(horizon) : forecast_->remaining(request, horizon);
  }
  [[nodiscard]] double survival(const fleet::RunningView& request, std::int64_t tokens) const override {
    return fallen_back_ ? 1 : forecast_->survival(request, tokens);
  }
  void finished(const fleet::LeaseSummary& summary, Time now) override;
  void running(const fleet::FleetView& fleet, Time now) override;

  [[nodiscard]] GuardFigures figures() const;

 private:
  struct Question {
    std::int64_t until = 0;  ///< age that is asked about
    double said = 1;         ///< by the forecast
    double share = 1;        ///< of those still running, as known when it was asked
  };
  void ask_about(const fleet::FleetView& fleet);
  void settle(const Question& question, bool still_running);

  std::shared_ptr<Forecast> forecast_;
  std::int64_t tokens_;
  std::unordered_map<std::uint64_t, Question> open_;  ///< by request
  std::uint64_t ends_ = ends_between;                 ///< since the last look
  // Sums, fading.
  double settled_ = 0;
  double still_running_ = 0;
  double error_ = 0;
  double base_error_ = 0;
  bool fallen_back_ = false;
};

}  // namespace evenkeel::forecast
