#include "gateway/peer_load.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::uint64_t most_requests = 1'000'000;
constexpr double most_took_ms = 86'400'000;
constexpr std::size_t longest = 512;

}  // namespace

std::string write_load(const PeerLoad& load) {
  std::string out = fmt::format("epoch={};seq={};active={};yours={}", load.news.epoch, load.news.sequence,
                                load.news.active, load.news.yours);
  if (load.slots) fmt::format_to(std::back_inserter(out), ";slots={}", *load.slots);
  if (load.took) fmt::format_to(std::back_inserter(out), ";took-ms={:.3f}", to_millis(*load.took));
  return out;
}

std::optional<PeerLoad> read_load(std::string_view value) {
  if (value.size() > longest) return std::nullopt;
  std::optional<std::uint64_t> epoch, sequence, active, yours, slots;
  std::optional<double> took;
  const std::array<std::pair<std::string_view, std::optional<std::uint64_t>*>, 5> counts = {
      {{"epoch", &epoch}, {"seq", &sequence}, {"active", &active}, {"yours", &yours}, {"slots", &slots}}};
  for (const std::string_view part : split(value, ';')) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view text = trim(part.substr(equals + 1));
    for (const auto& [name, into] : counts) {
      if (key != name) continue;
      *into = parse_unsigned(text);
      if (!*into) return std::nullopt;
    }
    if (key != "took-ms") continue;
    took = parse_double(text);
    if (!took || *took < 0 || *took > most_took_ms) return std::nullopt;
  }
  if (!epoch || !sequence || !active || !yours) return std::nullopt;
  if (*active > most_requests || *yours > *active || slots.value_or(0) > most_requests) return std::nullopt;
  PeerLoad load;
  load.news = {*epoch, *sequence, static_cast<std::int64_t>(*active), static_cast<std::int64_t>(*yours)};
  if (slots) load.slots = static_cast<std::int64_t>(*slots);
  if (took) load.took = from_millis(*took);
  return load;
}

}  // namespace evenkeel::gateway
