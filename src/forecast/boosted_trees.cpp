#include "forecast/boosted_trees.hpp"

#include <cmath>

#include <fmt/format.h>

namespace evenkeel::forecast {

Result<void> BoostedTrees::add_tree(std::span<const Node> nodes, std::size_t features) {
  if (nodes.empty()) return failure("a tree without nodes");
  if (roots_.size() >= most_trees) return failure(fmt::format("more than {} trees", most_trees));
  if (nodes.size() > most_nodes - nodes_.size()) return failure(fmt::format("more than {} nodes", most_nodes));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!std::isfinite(node.value)) return failure(fmt::format("the value of node {} is not finite", i));
    if (node.left == 0) continue;
    if (node.left <= i || node.left >= nodes.size() - 1) {
      return failure(fmt::format("the children of node {} are at {}; allowed: {} to {}", i, node.left, i + 1,
                                 static_cast<std::int64_t>(nodes.size()) - 2));
    }
    if (node.feature >= features) {
      return failure(fmt::format("node {} asks feature {}; allowed: 0 to {}", i, node.feature, features - 1));
    }
  }
  roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  return {};
}

std::span<const BoostedTrees::Node> BoostedTrees::tree(std::size_t index) const {
  const std::size_t end = index + 1 < roots_.size() ? roots_[index + 1] : nodes_.size();
  return std::span(nodes_).subspan(roots_[index], end - roots_[index]);
}

float BoostedTrees::predict(std::span<const float> row) const {
  float sum = base_;
  for (const std::uint32_t root : roots_) {
    const Node* const tree = nodes_.data() + root;
    const Node* node = tree;
    while (node->left != 0) {
      const float x = row[node->feature];
      const bool left = std::isnan(x) ? node->missing_left : x < node->value;
      node = tree + node->left + (left ? 0 : 1);
    }
    sum += node->value;
  }
  return link_ == Link::logistic ? 1.0F / (1.0F + std::exp(-sum)) : sum;
}

}  // namespace evenkeel::forecast
