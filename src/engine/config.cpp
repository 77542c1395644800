#include "engine/config.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace evenkeel::engine {
namespace {

constexpr double longest_step_s = 1e6;

Result<void> within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
}

Result<void> within(std::string_view field, double value, double low, double high) {
  if (std::isfinite(value) && value >= low && value <= high) return {};
  return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
}

Result<void> validate_law(const StepLaw& law) {
  return within("fixed_ms", law.fixed_ms, 0.001, 60'000.0)
      .and_then([&] { return within("token_ms", law.token_ms, 0.0, 1000.0); })
      .and_then([&] { return within("kv_token_ms", law.kv_token_ms, 0.0, 1.0); })
      .and_then([&] { return within("prefill_context_ms", law.prefill_context_ms, 0.0, 0.001); });
}

Result<void> validate_law(const RateLaw& law) {
  const auto entries = static_cast<std::int64_t>(law.tokens_per_s.size());
  if (auto ok = within("rate table entries", entries, 1, 65536); !ok) return ok;
  for (std::size_t i = 0; i < law.tokens_per_s.size(); ++i) {
    const auto field = fmt::format("rate table entry {}", i + 1);
    if (auto ok = within(field, law.tokens_per_s[i], 0.001, 1e9); !ok) return ok;
  }
  return {};
}

Result<void> validate_memory(const EngineConfig& config) {
  if (auto ok = within("block_size", config.block_size, 1, 4096); !ok) return ok;
  const std::int64_t most = std::int64_t{1} << 32;
  if (auto ok = within("kv_capacity", config.kv_capacity.value(), config.block_size, most); !ok) return ok;
  const std::int64_t held = config.usable_blocks() * config.block_size;
  if (held < 2) {
    return failure(fmt::format("kv_capacity is {}: in whole blocks of {} it holds {} tokens, allowed are 2 and more",
                               config.kv_capacity.value(), config.block_size, held));
  }
  const std::int64_t length = config.max_model_length == Tokens(0) ? held : config.max_model_length.value();
  // A longer model length would admit a request that can never end: alone and still out of blocks.
  return within("max_model_length", length, 2, held).map_error([&](Error error) {
    error.message += fmt::format(" (the KV cache holds {} tokens in whole blocks)", held);
    return error;
  });
}

Result<void> validate_growth(const EngineConfig& config) {
  const std::int64_t most = std::holds_alternative<RateLaw>(config.law) ? 1 : 16;
  return within("decode_growth", config.decode_growth, 1, most);
}

Result<void> validate_prefix_cache(const EngineConfig& config) {
  if (!config.prefix_cache) return {};
  const auto* law = std::get_if<StepLaw>(&config.law);
  if (law == nullptr) return failure("prefix_cache is on: under a rate table prompts cost nothing, off is allowed");
  if (law->prompt_kv_given) return failure("prefix_cache is on: prompts that bring their KV need none, off is allowed");
  return within("blocks of a prefix_cache", config.usable_blocks(), 1, (std::int64_t{1} << 31) - 1);
}

Result<void> validate_group(const EngineConfig& config) {
  if (auto ok = within("ranks", static_cast<std::int64_t>(config.ranks), 1, 1024); !ok) return ok;
  if (config.ranks > 1 && std::holds_alternative<RateLaw>(config.law)) {
    return failure(fmt::format("ranks is {}: a rate table has no steps to share, 1 is allowed", config.ranks));
  }
  if (!config.rank_speeds.empty() && config.rank_speeds.size() != config.ranks) {
    return failure(fmt::format("rank_speeds has {} entries: allowed are none or one for each of {} ranks",
                               config.rank_speeds.size(), config.ranks));
  }
  for (std::size_t rank = 0; rank < config.rank_speeds.size(); ++rank) {
    if (auto ok = within(fmt::format("rank_speeds[{}]", rank), config.rank_speeds[rank], 0.001, 1000.0); !ok) {
      return ok;
    }
  }
  return within("pause_check_steps", config.pause_check_steps, 1, 4096);
}

}  // namespace

Duration StepLaw::time_of(const RankStep& step, double speed) const {
  const double ms = fixed_ms + token_ms * step.new_tokens.as_double() + kv_token_ms * step.kv_tokens.as_double() +
                    prefill_context_ms * step.prefill_context;
  const double seconds = std::min(ms * 1e-3 / speed, longest_step_s);
  return std::max(from_seconds(seconds), Duration(1));
}

double RateLaw::tokens_per_s_each(std::int64_t running) const {
  const auto row = std::min(static_cast<std::size_t>(running), tokens_per_s.size());
  return tokens_per_s[row - 1] / static_cast<double>(running);
}

Result<void> validate(const EngineConfig& config) {
  return std::visit([](const auto& law) { return validate_law(law); }, config.law)
      .and_then([&] { return within("slots", config.slots, 1, 65536); })
      .and_then([&] { return validate_growth(config); })
      .and_then([&] {
        const std::int64_t least = config.slots * config.decode_growth;
        return within("step_token_budget", config.step_token_budget, least, std::int64_t{1} << 20)
            .map_error([](Error error) {
              error.message +=
                  " (every running request needs `decode_growth` tokens a step, so at least `slots` of them)";
              return error;
            });
      })
      .and_then([&] { return validate_memory(config); })
      .and_then([&] { return validate_prefix_cache(config); })
      .and_then([&] { return within("queue_limit", config.queue_limit, 1, 10'000'000); })
      .and_then([&] { return validate_group(config); });
}

}  // namespace evenkeel::engine
