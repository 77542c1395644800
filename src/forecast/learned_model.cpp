#include "forecast/learned_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "forecast/features.hpp"
#include "forecast/text_lines.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::string_view magic = "evenkeel-forecast 1";

void append_trees(std::string& out, std::string_view name, const BoostedTrees& trees) {
  const auto at = std::back_inserter(out);
  fmt::format_to(at, "trees {} {} {:.9g} {}\n", name,
                 trees.link() == BoostedTrees::Link::logistic ? "logistic" : "identity", trees.base(), trees.trees());
  for (std::size_t i = 0; i < trees.trees(); ++i) {
    fmt::format_to(at, "tree {}\n", trees.tree(i).size());
    for (const auto& node : trees.tree(i)) {
      if (node.left == 0) {
        fmt::format_to(at, "leaf {:.9g}\n", node.value);
      } else {
        fmt::format_to(at, "{} {:.9g} {} {}\n", node.feature, node.value, node.left, node.missing_left ? 'l' : 'r');
      }
    }
  }
}

/// The float nearest to the words: what was written with nine digits comes back to the bit.
std::optional<float> real(std::string_view word) {
  float value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<BoostedTrees::Node> parse_node(const std::vector<std::string_view>& words) {
  BoostedTrees::Node node;
  const bool leaf = words.size() == 2 && words[0] == "leaf";
  if (!leaf && words.size() != 4) return std::nullopt;
  const auto value = real(words[1]);
  if (!value) return std::nullopt;
  node.value = *value;
  if (leaf) return node;
  const auto feature = number(words[0], feature_names.size() - 1);
  const auto left = number(words[2], BoostedTrees::most_nodes);
  if (!feature || !left || *left == 0 || (words[3] != "l" && words[3] != "r")) return std::nullopt;
  node.feature = static_cast<std::uint16_t>(*feature);
  node.left = static_cast<std::uint32_t>(*left);
  node.missing_left = words[3] == "l";
  return node;
}

Result<BoostedTrees> parse_trees(Lines& lines, std::string_view name, BoostedTrees::Link link) {
  const std::string_view link_name = link == BoostedTrees::Link::logistic ? "logistic" : "identity";
  const auto head = lines.next();
  const bool named = head.size() == 5 && head[0] == "trees" && head[1] == name && head[2] == link_name;
  const auto base = named ? real(head[3]) : std::nullopt;
  const auto count = named ? number(head[4], BoostedTrees::most_trees) : std::nullopt;
  if (!base || !count) {
    return lines.wrong(
        fmt::format("\"trees {} {} BASE COUNT\", with COUNT at most {}", name, link_name, BoostedTrees::most_trees));
  }
  BoostedTrees trees(link, *base);
  std::vector<BoostedTrees::Node> nodes;
  for (std::uint64_t tree = 0; tree < *count; ++tree) {
    const auto words = lines.next();
    const auto size =
        words.size() == 2 && words[0] == "tree" ? number(words[1], BoostedTrees::most_nodes) : std::nullopt;
    if (!size) return lines.wrong(fmt::format("\"tree NODES\", with NODES at most {}", BoostedTrees::most_nodes));
    nodes.clear();
    for (std::uint64_t i = 0; i < *size; ++i) {
      const auto node = parse_node(lines.next());
      if (!node) return lines.wrong("\"FEATURE THRESHOLD LEFT l|r\" or \"leaf VALUE\"");
      nodes.push_back(*node);
    }
    if (auto added = trees.add_tree(nodes, feature_names.size()); !added) {
      return failure(fmt::format("the tree that ends in line {}: {}", lines.line(), added.error().message));
    }
  }
  return trees;
}

}  // namespace

std::string to_text(const LearnedModel& model) {
  std::string out = fmt::format("{}\nhorizon {}\ntrained {} requests {} samples\nfeatures {}\n", magic, model.horizon,
                                model.requests, model.samples, fmt::join(feature_names, " "));
  append_trees(out, "within", model.within);
  append_trees(out, "remaining", model.remaining);
  append_checksum(out);
  return out;
}

Result<LearnedModel> parse_learned_model(std::string_view text) {
  if (!text.starts_with(magic) || text.substr(magic.size(), 1) != "\n") {
    return failure(fmt::format("it does not begin with \"{}\"", magic));
  }
  const auto body = without_checksum(text);
  if (!body) return tl::unexpected(body.error());
  Lines lines(body->substr(magic.size() + 1));
  LearnedModel model;
  auto words = lines.next();
  const auto horizon = words.size() == 2 && words[0] == "horizon" ? number(words[1], longest_horizon) : std::nullopt;
  if (!horizon || *horizon == 0) return lines.wrong(fmt::format("\"horizon N\", with N from 1 to {}", longest_horizon));
  model.horizon = static_cast<std::int64_t>(*horizon);
  words = lines.next();
  const bool trained = words.size() == 5 && words[0] == "trained" && words[2] == "requests" && words[4] == "samples";
  const auto requests = trained ? parse_unsigned(words[1]) : std::nullopt;
  const auto samples = trained ? parse_unsigned(words[3]) : std::nullopt;
  if (!requests || !samples) return lines.wrong("\"trained N requests N samples\"");
  model.requests = *requests;
  model.samples = *samples;
  words = lines.next();
  const bool same = words.size() == feature_names.size() + 1 && words[0] == "features" &&
                    std::equal(feature_names.begin(), feature_names.end(), words.begin() + 1);
  if (!same) return lines.wrong("the list of features that this version knows; train it again");
  auto within = parse_trees(lines, "within", BoostedTrees::Link::logistic);
  if (!within) return tl::unexpected(within.error());
  auto remaining = parse_trees(lines, "remaining", BoostedTrees::Link::identity);
  if (!remaining) return tl::unexpected(remaining.error());
  if (!lines.at_end()) {
    static_cast<void>(lines.next());
    return lines.wrong("the checksum");
  }
  model.within = std::move(*within);
  model.remaining = std::move(*remaining);
  return model;
}

Result<LearnedModel> read_learned_model(const std::string& path) {
  const auto text = read_whole("model", path, largest_model_file);
  if (!text) return tl::unexpected(text.error());
  auto model = parse_learned_model(*text);
  if (!model) return failure(fmt::format("model \"{}\": {}", path, model.error().message));
  return model;
}

Result<void> write_learned_model(const LearnedModel& model, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << to_text(model);
  file.close();
  if (!file) return failure(fmt::format("model \"{}\" cannot be written", path));
  return {};
}

}  // namespace evenkeel::forecast
