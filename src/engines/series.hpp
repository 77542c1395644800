#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "engines/adapter.hpp"
#include "engines/prometheus.hpp"

namespace evenkeel::engines {

/// The series of one page that an adapter asked for: per name and rank one amount.
///
/// A rank is the value of the label that numbers data-parallel ranks ("" without one). Several samples of one
/// name and rank (tensor-parallel copies of one scheduler) say the same; the largest counts, as they lag
/// differently.
class Series {
 public:
  using ByRank = std::map<std::string, std::optional<double>>;

  /// Keeps the samples whose name is in `names`. `rank_label` as above; samples with a non-empty
  /// `parts_label` are parts of a total that is there as well, and are passed over.
  Series(std::string_view page, std::span<const std::string_view> names, std::string_view rank_label,
         std::string_view parts_label = {});

  /// The ranks of the first of `aliases` that the page has: new names first, so a page with both gives the
  /// new.
  [[nodiscard]] const ByRank* find(std::span<const std::string_view> aliases) const;
  /// Of one of them; nothing if it is not there or is no amount.
  [[nodiscard]] std::optional<double> of(std::span<const std::string_view> aliases, const std::string& rank) const;
  /// Their sum; nothing if there are none or one of them is no amount.
  [[nodiscard]] std::optional<double> sum(std::span<const std::string_view> aliases) const;

 private:
  std::map<std::string_view, ByRank> found_;
};

/// A rank's label, and the number that stands in it.
struct RankLabel {
  std::uint32_t number = 0;
  std::string text;
};
/// By number, ascending; none if one of them is no number, two are the same, or there are more than max_ranks.
[[nodiscard]] std::vector<RankLabel> numbered(const Series::ByRank& ranks);

/// Rounded to whole tokens.
[[nodiscard]] std::optional<Tokens> tokens_of(std::optional<double> value);
/// A count of slots: at least 1.
[[nodiscard]] std::optional<std::int64_t> slots_of(std::optional<double> value);

}  // namespace evenkeel::engines
