#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "forecast/support/lives.hpp"

namespace evenkeel::forecast::testing {

/// So many requests in service, each a token a step until its length; another comes for each that ends. The first are
/// spread over their lives.
class Service {
 public:
  using Length = std::function<std::int64_t(std::uint64_t id)>;
  Service(std::size_t slots, Length length, ModelId model = {}) : length_(std::move(length)), model_(model) {
    for (std::size_t i = 0; i < slots; ++i) {
      enter();
      requests_.back().view.generated =
          static_cast<std::int64_t>(mix64(i) % static_cast<std::uint64_t>(requests_.back().length));
    }
  }

  void step(Forecast& forecast) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      Request& request = requests_[i];
      if (++request.view.generated < request.length) continue;
      auto summary = ended(request.view.id.value, request.length);
      summary.model = model_;
      forecast.finished(summary, Time{});
      enter();
      requests_[i] = requests_.back();
      requests_.pop_back();
    }
    views_.clear();
    for (const Request& request : requests_) views_.push_back(request.view);
    look(forecast, views_, model_);
  }
  void run(Forecast& forecast, int steps) {
    for (int i = 0; i < steps; ++i) step(forecast);
  }

 private:
  struct Request {
    fleet::RunningView view;
    std::int64_t length = 0;
  };
  void enter() {
    fleet::RunningView view = in_service(++last_, 0);
    view.model = model_;
    requests_.push_back({view, length_(last_)});
  }

  Length length_;
  ModelId model_;
  std::uint64_t last_ = 0;
  std::vector<Request> requests_;
  std::vector<fleet::RunningView> views_;
};

}  // namespace evenkeel::forecast::testing
