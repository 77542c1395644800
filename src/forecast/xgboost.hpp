#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "forecast/boosted_trees.hpp"

namespace evenkeel::forecast {

/// Rows of equal width and what each should give.
struct Samples {
  std::size_t width = 0;
  std::vector<float> rows;  ///< width * labels.size(); NaN is a missing value
  std::vector<float> labels;
};

/// The size of the paper's models (arXiv 2605.06113): 200 estimators of depth 3.
struct BoostingOptions {
  int trees = 200;
  int depth = 3;
  double learning_rate = 0.1;
  BoostedTrees::Link link = BoostedTrees::Link::identity;
};

/// XGBoost, loaded when it is first asked for: who only uses trained models need not have it. One at a time.
class Xgboost {
 public:
  /// The error says what to install.
  [[nodiscard]] static Result<Xgboost> load();
  ~Xgboost();
  Xgboost(Xgboost&&) noexcept;
  Xgboost& operator=(Xgboost&&) noexcept;

  /// Trains a new model; deterministic for the same samples. Errors are XGBoost's words.
  [[nodiscard]] Result<void> fit(const Samples& samples, const BoostingOptions& options);
  /// What the model of the last fit() says of each row, and its JSON.
  [[nodiscard]] Result<std::vector<float>> predict(const Samples& samples) const;
  [[nodiscard]] Result<std::string> json() const;

 private:
  struct Library;
  explicit Xgboost(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

/// The trees of a model saved as JSON by XGBoost (its versions 1 and 2; booster gbtree with one output, objectives
/// binary:logistic and reg:squarederror). Errors name the field and what is allowed.
[[nodiscard]] Result<BoostedTrees> trees_of_xgboost_json(const std::string& json, std::size_t features);

}  // namespace evenkeel::forecast
