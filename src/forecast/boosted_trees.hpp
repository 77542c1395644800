#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::forecast {

/// A sum of regression trees, as gradient boosting makes them (XGBoost: Chen and Guestrin, KDD 2016), walked in one
/// flat array. Sums are single precision and in the order of the trees, as XGBoost's are, so that the two agree.
class BoostedTrees {
 public:
  /// Children lie side by side behind their parent, so a walk always ends.
  struct Node {
    float value = 0;         ///< of a leaf what it adds; else the threshold: smaller goes left
    std::uint32_t left = 0;  ///< place in the tree of the left child, the right one is next; 0: a leaf
    std::uint16_t feature = 0;
    bool missing_left = false;  ///< where NaN goes
  };
  enum class Link : std::uint8_t { identity, logistic };

  static constexpr std::size_t most_trees = 5000;
  static constexpr std::size_t most_nodes = 1 << 20;  ///< in all trees

  BoostedTrees() = default;
  /// `base` is added before the link.
  BoostedTrees(Link link, float base) : link_(link), base_(base) {}

  /// Errors name what of the tree is wrong: no node, a child that does not lie behind, a feature there is not, a value
  /// that is not finite, too much.
  [[nodiscard]] Result<void> add_tree(std::span<const Node> nodes, std::size_t features);

  /// `row` has the features the trees were checked for. No allocation; about 10 ns a tree of depth 3.
  [[nodiscard]] float predict(std::span<const float> row) const;

  [[nodiscard]] Link link() const { return link_; }
  [[nodiscard]] float base() const { return base_; }
  [[nodiscard]] std::size_t trees() const { return roots_.size(); }
  [[nodiscard]] std::span<const Node> tree(std::size_t index) const;

 private:
  Link link_ = Link::identity;
  float base_ = 0;
  std::vector<std::uint32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace evenkeel::forecast
