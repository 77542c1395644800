// Reads the JSON that XGBoost saves a model as (its doc/model.schema).
#include <simdjson.h>

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "forecast/xgboost.hpp"

namespace evenkeel::forecast {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

tl::unexpected<Error> wrong(std::string_view field, std::string_view allowed) {
  return failure(fmt::format("XGBoost model: field \"{}\" is missing or not {}", field, allowed));
}

std::optional<double> number_in_words(const element& root, const char* pointer) {
  std::string_view words;
  if (root.at_pointer(pointer).get(words) != simdjson::SUCCESS) return std::nullopt;
  return parse_double(words);
}

/// XGBoost's arrays of one tree; children may lie anywhere.
struct SavedTree {
  array left, right, feature, condition, missing_left;

  [[nodiscard]] bool read(const element& tree) {
    return tree["left_children"].get(left) == simdjson::SUCCESS &&
           tree["right_children"].get(right) == simdjson::SUCCESS &&
           tree["split_indices"].get(feature) == simdjson::SUCCESS &&
           tree["split_conditions"].get(condition) == simdjson::SUCCESS &&
           tree["default_left"].get(missing_left) == simdjson::SUCCESS;
  }
};

template <class Value>
bool read_all(const array& from, std::vector<Value>& into) {
  into.clear();
  for (const element value : from) {
    Value read{};
    if (value.get(read) != simdjson::SUCCESS) return false;
    into.push_back(read);
  }
  return true;
}

/// default_left is written as numbers or as truth values, by version.
bool read_flags(const array& from, std::vector<std::int64_t>& into) {
  into.clear();
  for (const element value : from) {
    bool flag = false;
    std::int64_t number = 0;
    if (value.get(flag) == simdjson::SUCCESS) {
      into.push_back(flag ? 1 : 0);
    } else if (value.get(number) == simdjson::SUCCESS) {
      into.push_back(number);
    } else {
      return false;
    }
  }
  return true;
}

/// In the order of breadth, so that children lie side by side behind their parent.
std::optional<std::vector<BoostedTrees::Node>> breadth_first(const SavedTree& saved) {
  std::vector<std::int64_t> left, right, feature, missing_left;
  std::vector<double> condition;
  if (!read_all(saved.left, left) || !read_all(saved.right, right) || !read_all(saved.feature, feature) ||
      !read_all(saved.condition, condition) || !read_flags(saved.missing_left, missing_left)) {
    return std::nullopt;
  }
  const std::size_t count = left.size();
  if (count == 0 || right.size() != count || feature.size() != count || condition.size() != count ||
      missing_left.size() != count) {
    return std::nullopt;
  }
  std::vector<std::size_t> order{0};
  std::vector<BoostedTrees::Node> nodes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t at = order[i];
    BoostedTrees::Node node;
    node.value = static_cast<float>(condition[at]);
    if (left[at] >= 0) {
      const auto known = [&](std::int64_t child) { return child > 0 && child < static_cast<std::int64_t>(count); };
      const bool sane = known(left[at]) && known(right[at]) && feature[at] >= 0 && feature[at] < 0xFFFF;
      if (!sane || order.size() + 2 > count) return std::nullopt;  // more nodes than there are: a circle
      node.left = static_cast<std::uint32_t>(order.size());
      node.feature = static_cast<std::uint16_t>(feature[at]);
      node.missing_left = missing_left[at] != 0;
      order.push_back(static_cast<std::size_t>(left[at]));
      order.push_back(static_cast<std::size_t>(right[at]));
    }
    nodes.push_back(node);
  }
  return nodes;
}

Result<BoostedTrees> empty_trees(const element& root) {
  std::string_view objective;
  if (root.at_pointer("/learner/objective/name").get(objective) != simdjson::SUCCESS ||
      (objective != "binary:logistic" && objective != "reg:squarederror")) {
    return wrong("learner.objective.name", "binary:logistic or reg:squarederror");
  }
  const auto base = number_in_words(root, "/learner/learner_model_param/base_score");
  if (!base) return wrong("learner.learner_model_param.base_score", "a number in a string");
  if (objective == "reg:squarederror") return BoostedTrees(BoostedTrees::Link::identity, static_cast<float>(*base));
  if (!(*base > 0 && *base < 1)) return wrong("learner.learner_model_param.base_score", "between 0 and 1");
  const auto score = static_cast<float>(*base);
  return BoostedTrees(BoostedTrees::Link::logistic, -std::log(1.0F / score - 1.0F));
}

}  // namespace

Result<BoostedTrees> trees_of_xgboost_json(const std::string& json, std::size_t features) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json).get(root)) {
    return failure(fmt::format("XGBoost model: {}", simdjson::error_message(error)));
  }
  auto trees = empty_trees(root);
  if (!trees) return trees;
  array saved;
  if (root.at_pointer("/learner/gradient_booster/model/trees").get(saved) != simdjson::SUCCESS) {
    return wrong("learner.gradient_booster.model.trees", "an array, as the booster gbtree has it");
  }
  for (const element tree : saved) {
    SavedTree arrays;
    if (!arrays.read(tree)) return wrong("learner.gradient_booster.model.trees", "made of trees");
    const auto nodes = breadth_first(arrays);
    if (!nodes) return wrong("learner.gradient_booster.model.trees", "made of trees without circles");
    if (auto added = trees->add_tree(*nodes, features); !added) {
      return failure(fmt::format("XGBoost model: {}", added.error().message));
    }
  }
  return trees;
}

}  // namespace evenkeel::forecast
