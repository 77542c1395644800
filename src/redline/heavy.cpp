#include "redline/heavy.hpp"

#include <algorithm>
#include <bit>

namespace evenkeel::redline {

namespace {
constexpr double remembered = 256;  // requests after which a count has faded to 1/e
}

void HeavyClassifier::Share::add(bool is_heavy) {
  heavy += (is_heavy ? 1 : 0) - heavy / remembered;
  all += 1 - all / remembered;
}

std::size_t HeavyClassifier::length_class(std::int64_t prompt_tokens) {
  const auto width = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(prompt_tokens, 0)));
  return std::min<std::size_t>(static_cast<std::size_t>(width), std::tuple_size_v<decltype(by_length_)> - 1);
}

double HeavyClassifier::prior(const RequestSigns& signs) const {
  if (signs.bound > 0 && signs.bound <= options_.heavy_tokens) return 0;
  if (signs.told) return *signs.told ? 1 : 0;
  const double of_all = (all_.heavy + 1) / (all_.all + 4);
  const double of_length = by_length_[length_class(signs.prompt_tokens)].shrunk(of_all);
  const auto client = by_client_.find(signs.client);
  return signs.client == 0 || client == by_client_.end() ? of_length : client->second.shrunk(of_length);
}

void HeavyClassifier::ended(const RequestSigns& signs, bool called_heavy, std::int64_t output) {
  const bool was_heavy = heavy_by_age(output);
  ++counts_.ended;
  if (called_heavy && !was_heavy) ++counts_.called_heavy;
  if (!called_heavy && was_heavy) ++counts_.called_light;
  all_.add(was_heavy);
  by_length_[length_class(signs.prompt_tokens)].add(was_heavy);
  if (signs.client == 0) return;
  if (by_client_.size() >= options_.most_clients && !by_client_.contains(signs.client)) {
    by_client_.erase(by_client_.begin());
  }
  by_client_[signs.client].add(was_heavy);
}

}  // namespace evenkeel::redline
