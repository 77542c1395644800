#include "config/plan_file.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/text.hpp"
#include "planning/level.hpp"

namespace evenkeel::config {

namespace {

using planning::DurationPart;
using planning::FleetPlan;

constexpr std::string_view memory = "memory_gb";

/// A fault on its way to read_plan(), so that the walk through the file reads like the file.
struct Fault {
  std::string message;
};

class PlanReader {
 public:
  explicit PlanReader(const std::string& source) : source_(source) {}

  FleetPlan read(const toml::table& root) {
    only(root, "",
         {"level", "cost_ratio", "breaches_per_month", "scale_time_s", "staleness_s", "correlated_share", "correlation",
          "sequence_gb", "profile", "models", "groups"});
    FleetPlan plan;
    plan.scale_time_s = number_or(root, "scale_time_s", plan.scale_time_s);
    plan.staleness_s = number_or(root, "staleness_s", plan.staleness_s);
    plan.correlated_share = number_or(root, "correlated_share", plan.correlated_share);
    plan.correlation = number_or(root, "correlation", plan.correlation);
    plan.sequence_gb = number_or(root, "sequence_gb", plan.sequence_gb);
    plan.level = level_of(root, plan);
    plan.profile = profile_of(root);
    const auto models = entries_of(root, "models");
    plan.resources = resources_of(models);
    for (const toml::table* entry : models) plan.models.push_back(model_of(*entry, plan));
    for (const toml::table* entry : entries_of(root, "groups")) plan.groups.push_back(group_of(*entry, plan));
    return plan;
  }

 private:
  // Errors end the walk.
  [[noreturn]] void fail(const toml::source_region& where, std::string_view what) const {
    throw Fault{fmt::format("{}:{}:{}: {}", source_, where.begin.line, where.begin.column, what)};
  }

  /// Refuses keys that are not `known`.
  void only(const toml::table& table, std::string_view of, const std::vector<std::string_view>& known) const {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      const std::string what =
          fmt::format("\"{}\" is not known{}", key.str(), of.empty() ? "" : fmt::format(" in {}", of));
      const std::string_view near = nearest_name(key.str(), known);
      if (!near.empty()) fail(key.source(), fmt::format("{}, did you mean \"{}\"?", what, near));
      fail(key.source(), fmt::format("{} (allowed: {})", what, fmt::join(known, ", ")));
    }
  }

  double as_number(const toml::node& node, std::string_view name) const {
    const auto value = node.value<double>();
    if (!value || !node.is_number()) fail(node.source(), fmt::format("{} must be a number", name));
    return *value;
  }

  double number_or(const toml::table& table, std::string_view key, double otherwise) const {
    const toml::node* const node = table.get(key);
    return node == nullptr ? otherwise : as_number(*node, key);
  }

  double number(const toml::table& table, std::string_view key, std::string_view of) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) fail(table.source(), fmt::format("{} needs {}", of, key));
    return as_number(*node, key);
  }

  std::string text(const toml::table& table, std::string_view key, std::string_view of) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) fail(table.source(), fmt::format("{} needs a {}", of, key));
    const auto* const value = node->as_string();
    if (value == nullptr || value->get().empty()) fail(node->source(), fmt::format("{} must be a text", key));
    return value->get();
  }

  const toml::table& table(const toml::table& in, std::string_view key, std::string_view of) const {
    const toml::node* const node = in.get(key);
    if (node == nullptr) fail(in.source(), fmt::format("{} needs {}", of, key));
    if (!node->is_table()) fail(node->source(), fmt::format("{} must be a table", key));
    return *node->as_table();
  }

  std::vector<const toml::table*> tables(const toml::node& node, std::string_view what) const {
    const auto* const array = node.as_array();
    if (array == nullptr) fail(node.source(), fmt::format("{} must be a list of tables", what));
    std::vector<const toml::table*> found;
    for (const toml::node& item : *array) {
      if (!item.is_table()) fail(item.source(), fmt::format("{} must be a list of tables", what));
      found.push_back(item.as_table());
    }
    return found;
  }

  std::vector<const toml::table*> entries_of(const toml::table& root, std::string_view key) const {
    const toml::node* const node = root.get(key);
    if (node == nullptr) fail(root.source(), fmt::format("[[{}]] is missing: at least one is needed", key));
    return tables(*node, fmt::format("[[{}]]", key));
  }

  double level_of(const toml::table& root, const FleetPlan& plan) const {
    const toml::node* given = nullptr;
    for (const std::string_view key : {"level", "cost_ratio", "breaches_per_month"}) {
      const toml::node* const node = root.get(key);
      if (node != nullptr && given != nullptr)
        fail(node->source(), "the level is given twice: level, cost_ratio and breaches_per_month exclude each other");
      if (node != nullptr) given = node;
    }
    if (given == nullptr) return plan.level;
    const auto level = [&]() -> Result<double> {
      if (root.contains("breaches_per_month")) {
        return planning::level_of_breaches_per_month(as_number(*given, "breaches_per_month"), plan.scale_time_s);
      }
      if (root.contains("cost_ratio")) return planning::level_of_cost_ratio(text(root, "cost_ratio", ""));
      if (given->is_number()) return planning::level_of_text(fmt::format("{}", as_number(*given, "level")));
      return planning::level_of_text(text(root, "level", ""));
    }();
    if (!level) fail(given->source(), level.error().message);
    return *level;
  }

  std::vector<planning::RateStep> profile_of(const toml::table& root) const {
    const toml::node* const node = root.get("profile");
    if (node == nullptr) return {};
    std::vector<planning::RateStep> profile;
    for (const toml::table* const entry : tables(*node, "profile")) {
      only(*entry, "profile", {"from_s", "factor"});
      profile.push_back(
          {number(*entry, "from_s", "a step of the profile"), number(*entry, "factor", "a step of the profile")});
    }
    return profile;
  }

  /// Memory, then what else the models hold, by name.
  std::vector<std::string> resources_of(const std::vector<const toml::table*>& models) const {
    std::set<std::string> others;
    for (const toml::table* const entry : models) {
      for (const auto& [key, node] : table(*entry, "footprint", "a model")) others.insert(std::string(key.str()));
    }
    others.erase(std::string(memory));
    std::vector<std::string> resources{std::string(memory)};
    resources.insert(resources.end(), others.begin(), others.end());
    return resources;
  }

  static std::vector<std::string_view> views(const std::vector<std::string>& names) {
    return {names.begin(), names.end()};
  }

  planning::Model model_of(const toml::table& entry, const FleetPlan& plan) const {
    only(entry, "models", {"name", "durations", "cap_s", "footprint"});
    planning::Model model;
    model.name = text(entry, "name", "a model");
    for (const auto& other : plan.models) {
      if (other.name == model.name) fail(entry.source(), fmt::format("the model \"{}\" is there twice", model.name));
    }
    model.duration.cap_s = number_or(entry, "cap_s", model.duration.cap_s);
    const toml::node* const durations = entry.get("durations");
    if (durations == nullptr) fail(entry.source(), "a model needs durations");
    for (const toml::table* const part : tables(*durations, "durations"))
      model.duration.parts.push_back(part_of(*part));
    const toml::table& footprint = table(entry, "footprint", "a model");
    for (const std::string& resource : plan.resources) {
      const toml::table& foot = table(footprint, resource, fmt::format("the footprint of \"{}\"", model.name));
      only(foot, resource, {"fixed", "growth_per_s"});
      model.footprints.push_back({number_or(foot, "fixed", 0), number_or(foot, "growth_per_s", 0)});
    }
    return model;
  }

  DurationPart part_of(const toml::table& entry) const {
    DurationPart part;
    const std::string law = text(entry, "law", "a duration");
    part.weight = number_or(entry, "weight", 1);
    if (law == "pareto") {
      only(entry, "a pareto duration", {"law", "weight", "minimum_s", "tail_index"});
      part.minimum_s = number(entry, "minimum_s", "a pareto duration");
      part.tail_index = number(entry, "tail_index", "a pareto duration");
      return part;
    }
    if (law != "exponential")
      fail(entry.get("law")->source(), fmt::format("law is \"{}\" (allowed: pareto, exponential)", law));
    only(entry, "an exponential duration", {"law", "weight", "mean_s"});
    part.kind = DurationPart::Kind::exponential;
    part.mean_s = number(entry, "mean_s", "an exponential duration");
    return part;
  }

  planning::Group group_of(const toml::table& entry, const FleetPlan& plan) const {
    only(entry, "groups", {"name", "nodes", "capacity", "per_hour"});
    planning::Group group;
    group.name = text(entry, "name", "a group");
    for (const auto& other : plan.groups) {
      if (other.name == group.name) fail(entry.source(), fmt::format("the group \"{}\" is there twice", group.name));
    }
    const toml::node* const nodes = entry.get("nodes");
    if (nodes == nullptr) fail(entry.source(), "a group needs nodes");
    if (!nodes->is_integer()) fail(nodes->source(), "nodes must be a whole number");
    group.nodes = nodes->as_integer()->get();
    const toml::table& capacity = table(entry, "capacity", "a group");
    only(capacity, "capacity", views(plan.resources));
    for (const std::string& resource : plan.resources) group.capacity.push_back(number(capacity, resource, "capacity"));
    std::vector<std::string_view> models;
    for (const auto& model : plan.models) models.push_back(model.name);
    const toml::table& rates = table(entry, "per_hour", "a group");
    only(rates, "per_hour", models);
    for (const std::string_view model : models) group.rate_per_node_s.push_back(number_or(rates, model, 0) / 3600);
    return group;
  }

  const std::string& source_;
};

/// Where in the file stands what a check of the whole plan speaks of, and its words: a model or group by the name that
/// they begin with, a key by how they call it.
std::string place_of(const toml::table& root, const std::string& words, const std::string& source) {
  constexpr std::pair<std::string_view, std::string_view> keys[] = {
      {"level", "level"},           {"scale time", "scale_time_s"},           {"an ordinary sequence", "sequence_gb"},
      {"staleness", "staleness_s"}, {"correlated share", "correlated_share"}, {"correlation", "correlation"},
      {"the profile", "profile"},   {"a step of the profile", "profile"},     {"a factor of the profile", "profile"}};
  const toml::node* at = nullptr;
  for (const auto& [kind, list] : {std::pair{"model", "models"}, std::pair{"group", "groups"}}) {
    const toml::array* const entries = root[list].as_array();
    for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
      const std::string name = (*entries)[i].as_table()->at("name").value_or(std::string());
      if (words.starts_with(fmt::format("{} \"{}\": ", kind, name))) at = entries->get(i);
    }
  }
  for (const auto& [called, key] : keys) {
    if (at == nullptr && words.starts_with(called)) at = root.get(key);
  }
  if (at == nullptr) return fmt::format("{}: {}", source, words);
  return fmt::format("{}:{}:{}: {}", source, at->source().begin.line, at->source().begin.column, words);
}

}  // namespace

Result<FleetPlan> read_plan(std::string_view text, const std::string& source) {
  try {
    const toml::table root = toml::parse(text, source);
    const FleetPlan plan = PlanReader(source).read(root);
    if (auto ok = plan.check(); !ok) return failure(place_of(root, ok.error().message, source));
    return plan;
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    return failure(fmt::format("{}:{}:{}: {}", source, where.line, where.column, error.description()));
  } catch (const Fault& fault) {
    return failure(fault.message);
  }
}

}  // namespace evenkeel::config
