#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "routing/automatic.hpp"
#include "routing/balance.hpp"
#include "routing/br.hpp"
#include "routing/consistent_hash.hpp"
#include "routing/headroom.hpp"
#include "routing/io0.hpp"
#include "routing/ioh.hpp"
#include "routing/late.hpp"
#include "routing/least_wait.hpp"
#include "routing/policy.hpp"
#include "routing/simple.hpp"
#include "routing/spec.hpp"

namespace evenkeel::routing {

namespace {

using Made = Result<std::unique_ptr<Policy>>;

template <class Rule>
Made plain(Parameters&, const PolicyParts&) {
  return std::make_unique<Rule>();
}

Made make_least_wait(Parameters& parameters, const PolicyParts&) {
  return std::make_unique<LeastWait>(parameters.flag("hits", true));
}

Made make_late_tail(Parameters& parameters, const PolicyParts&) {
  if (parameters.flag("slots_only", false)) return std::make_unique<LateSlotsOnly>();
  return std::make_unique<LateTail>();
}

Made make_balance(Parameters& parameters, const PolicyParts&) {
  Balance::Options options;
  options.hold = parameters.flag("hold", options.hold);
  return std::make_unique<Balance>(options);
}

Made make_headroom(Parameters& parameters, bool argmax) {
  Headroom::Options options;
  options.argmax = argmax;
  options.sample = argmax ? 0 : static_cast<std::size_t>(parameters.integer("d", 2, 1, 1024));
  options.output_tokens = parameters.integer("output", 0, 0, 1 << 24);
  options.prefill_capacity = parameters.integer("prefill", options.prefill_capacity, 1, 1 << 30);
  return std::make_unique<Headroom>(options);
}

Made make_sampled_headroom(Parameters& parameters, const PolicyParts&) { return make_headroom(parameters, false); }
Made make_headroom_argmax(Parameters& parameters, const PolicyParts&) { return make_headroom(parameters, true); }

struct Entry {
  std::string_view name;
  Made (*make)(Parameters&, const PolicyParts&);
};
constexpr std::array entries = {
    Entry{"auto", plain<Automatic>},
    Entry{"random", plain<RandomChoice>},
    Entry{"round_robin", plain<RoundRobin>},
    Entry{"power_of_two", plain<PowerOfTwo>},
    Entry{"least_requests", plain<LeastRequests>},
    Entry{"least_tokens", plain<LeastTokens>},
    Entry{"least_wait", make_least_wait},
    Entry{"longest_prefix", plain<LongestPrefix>},
    Entry{"late", plain<Late>},
    Entry{"late_tail", make_late_tail},
    Entry{"consistent_hash", plain<ConsistentHash>},
    Entry{"balance", make_balance},
    Entry{"br0", make_br0},
    Entry{"brh", make_brh},
    Entry{"io0", make_io0},
    Entry{"ioh", make_ioh},
    Entry{"headroom", make_sampled_headroom},
    Entry{"headroom_argmax", make_headroom_argmax},
};

constexpr auto names = [] {
  std::array<std::string_view, entries.size()> all;
  std::transform(entries.begin(), entries.end(), all.begin(), [](const Entry& entry) { return entry.name; });
  return all;
}();

}  // namespace

std::span<const std::string_view> policy_names() { return names; }

Made make_policy(const PolicySpec& spec, const PolicyParts& parts) {
  const auto* entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == spec.name; });
  if (entry == entries.end()) {
    const auto near = nearest_name(spec.name, names);
    return failure(fmt::format("policy \"{}\" is not known{} (allowed: {})", spec.name,
                               near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
                               fmt::join(names, ", ")));
  }
  Parameters parameters(spec);
  auto made = entry->make(parameters, parts);
  if (!made) return made;
  if (auto fine = parameters.finish(); !fine) return tl::unexpected(fine.error());
  return made;
}

Made make_policy(std::string_view text, const PolicyParts& parts) {
  const auto spec = PolicySpec::parse(text);
  if (!spec) return tl::unexpected(spec.error());
  return make_policy(*spec, parts);
}

}  // namespace evenkeel::routing
