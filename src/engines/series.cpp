#include "engines/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace evenkeel::engines {

Series::Series(std::string_view page, std::span<const std::string_view> names, std::string_view rank_label,
               std::string_view parts_label) {
  if (page.size() > max_metrics_bytes) return;
  while (const auto sample = next_sample(page)) {
    const auto name = std::find(names.begin(), names.end(), sample->name);
    if (name == names.end()) continue;
    if (!parts_label.empty() && !label(sample->labels, parts_label).value_or("").empty()) continue;
    const auto value = amount(sample->value_text);
    const auto [at, fresh] = found_[*name].try_emplace(label(sample->labels, rank_label).value_or(""), value);
    if (fresh) continue;
    at->second = at->second && value ? std::optional(std::max(*at->second, *value)) : std::nullopt;
  }
}

const Series::ByRank* Series::find(std::span<const std::string_view> aliases) const {
  for (const std::string_view name : aliases) {
    if (const auto at = found_.find(name); at != found_.end()) return &at->second;
  }
  return nullptr;
}

std::optional<double> Series::of(std::span<const std::string_view> aliases, const std::string& rank) const {
  const ByRank* ranks = find(aliases);
  if (ranks == nullptr) return std::nullopt;
  const auto at = ranks->find(rank);
  return at == ranks->end() ? std::nullopt : at->second;
}

std::optional<double> Series::sum(std::span<const std::string_view> aliases) const {
  const ByRank* ranks = find(aliases);
  if (ranks == nullptr) return std::nullopt;
  Sum total;
  for (const auto& [rank, value] : *ranks) total.add(value);
  return total.get();
}

std::vector<RankLabel> numbered(const Series::ByRank& ranks) {
  if (ranks.size() > max_ranks) return {};
  std::vector<RankLabel> labels;
  for (const auto& [text, value] : ranks) {
    const auto number = parse_unsigned(text);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return {};
    labels.push_back({static_cast<std::uint32_t>(*number), text});
  }
  const auto by_number = [](const RankLabel& a, const RankLabel& b) { return a.number < b.number; };
  std::sort(labels.begin(), labels.end(), by_number);
  const auto same = [](const RankLabel& a, const RankLabel& b) { return a.number == b.number; };
  if (std::adjacent_find(labels.begin(), labels.end(), same) != labels.end()) return {};
  return labels;
}

std::optional<Tokens> tokens_of(std::optional<double> value) {
  if (!value) return std::nullopt;
  return Tokens(std::llround(*value));
}

std::optional<std::int64_t> slots_of(std::optional<double> value) {
  if (!value || *value < 1) return std::nullopt;
  return std::llround(*value);
}

}  // namespace evenkeel::engines
