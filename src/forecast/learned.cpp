#include "forecast/learned.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evenkeel::forecast {

namespace {
constexpr std::size_t places = 1024;
}

Learned::Learned(std::shared_ptr<const LearnedModel> model) : model_(std::move(model)), answers_(places) {}

void Learned::finished(const fleet::LeaseSummary& summary, Time now) {
  features_.finished(summary);
  overall_.finished(summary, now);
}

const Learned::Answer& Learned::ask(const fleet::RunningView& request) const {
  Answer& answer = answers_[request.id.value % places];
  const std::int64_t prompt = request.prompt_tokens.value();
  if (answer.ends == features_.ends() && answer.request == request.id.value && answer.age == request.generated &&
      answer.prompt == prompt) {
    return answer;
  }
  const FeatureRow row = features_.row(request);
  const auto horizon = static_cast<double>(model_->horizon);
  answer = {request.id.value, request.generated, prompt, features_.ends()};
  answer.within = std::clamp<double>(model_->within.predict(row), 0, 1);
  const double mean = std::clamp<double>(model_->remaining.predict(row), std::min(1.0, horizon / 2), horizon);
  answer.power = mean / std::max(horizon - mean, 1e-9 * horizon);
  return answer;
}

double Learned::remaining(const fleet::RunningView& request, std::int64_t horizon) const {
  if (!features_.ready()) return overall_.remaining(request, horizon);
  horizon = std::max<std::int64_t>(horizon, 1);
  const Answer& answer = ask(request);
  const std::int64_t trained = model_->horizon;
  const auto within = static_cast<double>(std::min(horizon, trained));
  const double share = answer.within * std::pow(within / static_cast<double>(trained), answer.power);
  const double tokens = within - share * within / (answer.power + 1);
  if (horizon <= trained) return tokens;
  const std::int64_t age = std::max<std::int64_t>(request.generated, 0) + trained;
  return tokens + (1 - answer.within) * overall_.remaining_at(age, horizon - trained);
}

double Learned::survival(const fleet::RunningView& request, std::int64_t tokens) const {
  if (!features_.ready()) return overall_.survival(request, tokens);
  if (tokens <= 0) return 1;
  const Answer& answer = ask(request);
  const std::int64_t trained = model_->horizon;
  if (tokens < trained) {
    return 1 - answer.within * std::pow(static_cast<double>(tokens) / static_cast<double>(trained), answer.power);
  }
  const std::int64_t age = std::max<std::int64_t>(request.generated, 0) + trained;
  return (1 - answer.within) * overall_.survival_at(age, tokens - trained);
}

}  // namespace evenkeel::forecast
