#include "gateway/told_hits.hpp"

#include <charconv>
#include <numeric>

#include "engines/kv_event_feed.hpp"

namespace evenkeel::gateway {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::optional<std::vector<std::uint32_t>> read_token_ids(std::string_view json, std::size_t most) {
  const char* at = json.data();
  const char* const end = at + json.size();
  const auto skip_blanks = [&] {
    while (at != end && is_blank(*at)) ++at;
    return at != end;
  };
  if (!skip_blanks() || *at != '[') return std::nullopt;
  ++at;
  std::vector<std::uint32_t> ids;
  while (skip_blanks() && ids.size() < most) {
    std::uint32_t id = 0;
    const auto [behind, error] = std::from_chars(at, end, id);
    if (error != std::errc()) return std::nullopt;
    ids.push_back(id);
    at = behind;
    if (!skip_blanks()) return std::nullopt;
    if (*at == ']') return ids;
    if (*at++ != ',') return std::nullopt;
  }
  return std::nullopt;
}

std::shared_ptr<const dispatch::ToldHits> told_hits(const FleetMap& fleet, ModelId model, std::string_view ids) {
  if (model.value < fleet.adapter.size() && fleet.adapter[model.value]) return nullptr;
  std::uint32_t stride = 0;
  for (const auto& upstream : fleet.upstreams) {
    if (upstream != nullptr && upstream->kv_feed) stride = std::gcd(stride, upstream->kv_feed->block_size());
  }
  if (stride == 0) return nullptr;
  const auto tokens = read_token_ids(ids);
  if (!tokens) return nullptr;
  const affinity::TokenChain chain = affinity::token_chain(*tokens, stride);
  auto hits = std::make_shared<dispatch::ToldHits>();
  for (const auto& upstream : fleet.upstreams) {
    if (upstream == nullptr || !upstream->kv_feed) continue;
    if (const auto held = upstream->kv_feed->held(chain)) hits->emplace_back(upstream->id, *held);
  }
  return hits->empty() ? nullptr : hits;
}

}  // namespace evenkeel::gateway
