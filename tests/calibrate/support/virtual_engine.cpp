#include "calibrate/support/virtual_engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "calibrate/level_meter.hpp"
#include "calibrate/prompts.hpp"

namespace evenkeel::calibrate {

namespace {

/// As much of a prompt as one block of a prefix cache holds.
constexpr std::size_t block_bytes = 64;

engine::EngineConfig config_of(const std::vector<double>& tokens_per_s) {
  engine::EngineConfig config;
  config.law = engine::RateLaw{.tokens_per_s = tokens_per_s};
  config.slots = static_cast<std::int64_t>(tokens_per_s.size());
  if (const auto good = engine::validate(config); !good) throw std::runtime_error(good.error().message);
  return config;
}

}  // namespace

VirtualEngine::VirtualEngine(std::vector<double> tokens_per_s)
    : rates_(std::move(tokens_per_s)), engine_(std::make_unique<engine::RateEngine>(config_of(rates_))) {}

void VirtualEngine::submit(std::size_t stream, const std::string& prompt, std::int64_t tokens) {
  Request request;
  request.stream = stream;
  request.output = tokens;
  if (lengths_) {
    const auto span = static_cast<std::uint64_t>(lengths_->second - lengths_->first + 1);
    request.output = lengths_->first + static_cast<std::int64_t>(random_.below(span));
  }
  request.seen = !beginnings_.insert(prompt.substr(0, block_bytes)).second;
  cached_ += request.seen ? 1 : 0;
  engine::EngineRequest asked;
  asked.id = next_++;
  asked.prompt = Tokens(60);
  asked.output = Tokens(request.output);
  requests_[asked.id] = request;
  if (engine_->submit(now_, asked) != engine::SubmitOutcome::accepted) throw std::runtime_error("refused");
  choose_rates();
}

void VirtualEngine::choose_rates() {
  if (cached_factor_ == 1 || requests_.empty()) return;
  const bool all_seen = std::ranges::all_of(requests_, [](const auto& each) { return each.second.seen; });
  std::vector<double> rates = rates_;
  for (double& rate : rates) rate *= all_seen ? cached_factor_ : 1;
  engine_->set_rates(now_, std::move(rates));
}

std::vector<VirtualEngine::Happened> VirtualEngine::advance() {
  happened_.clear();
  while (happened_.empty()) {
    const auto next = engine_->next_event();
    if (!next) break;
    now_ = *next;
    engine_->advance(now_, *this);
  }
  choose_rates();
  return std::exchange(happened_, {});
}

void VirtualEngine::on_event(const engine::EngineEvent& event) {
  using Kind = engine::EngineEvent::Kind;
  if (event.kind != Kind::tokens && event.kind != Kind::finished) return;
  const Request& request = requests_.at(event.id);
  Happened what{event.at, request.stream, event.count.value(), std::nullopt};
  if (event.kind == Kind::finished) {
    what.output = request.output;
    requests_.erase(event.id);
  }
  happened_.push_back(what);
}

Ramp calibrate_in_virtual_time(VirtualEngine& engine, const Options& options, std::function<std::string()> prompt) {
  Prompts prompts(1);
  if (!prompt) prompt = [&prompts] { return prompts.next(); };
  Ramp ramp(options.schedule, options.ttft_bound_s, options.min_relative_gain);
  while (const auto level = ramp.next()) {
    LevelMeter meter(*level);
    const auto begin = [&](std::size_t stream) {
      meter.began(stream, engine.now());
      engine.submit(stream, prompt(), options.max_tokens);
    };
    for (std::size_t stream = 0; stream < static_cast<std::size_t>(*level); ++stream) begin(stream);
    for (auto happened = engine.advance(); !happened.empty(); happened = engine.advance()) {
      for (const auto& what : happened) {
        meter.content(what.stream, what.at, what.tokens);
        if (what.output && meter.ended(what.stream, what.at, what.output)) begin(what.stream);
      }
    }
    ramp.measured(meter.sample());
  }
  return ramp;
}

double throughput_of_one_batch(VirtualEngine& engine, std::size_t requests, std::int64_t tokens) {
  const Time begun = engine.now();
  for (std::size_t stream = 0; stream < requests; ++stream) engine.submit(stream, std::to_string(stream), tokens);
  while (!engine.advance().empty()) {
  }
  return static_cast<double>(requests) * static_cast<double>(tokens) / to_seconds(engine.now() - begun);
}

}  // namespace evenkeel::calibrate
