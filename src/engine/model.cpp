#include "engine/model.hpp"

#include "engine/group.hpp"
#include "engine/rate_engine.hpp"

namespace evenkeel::engine {

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::abort: return "abort";
  }
  return "";
}

void EngineSink::on_deliveries(Time at, std::span<const Delivery> deliveries) {
  for (const Delivery& each : deliveries) {
    EngineEvent event;
    event.at = at;
    event.id = each.id;
    event.count = Tokens(each.count);
    event.first = each.first;
    on_event(event);
    if (!each.finished) continue;
    EngineEvent end;
    end.kind = EngineEvent::Kind::finished;
    end.at = at;
    end.id = each.id;
    end.reason = each.reason;
    on_event(end);
  }
}

std::string_view describe(SubmitOutcome outcome) {
  switch (outcome) {
    case SubmitOutcome::accepted: return "accepted";
    case SubmitOutcome::duplicate_id: return "a request with this id is already here";
    case SubmitOutcome::empty_prompt: return "the prompt must have at least 1 token";
    case SubmitOutcome::empty_output: return "the output must have at least 1 token";
    case SubmitOutcome::prompt_too_long: return "the prompt leaves no room for output within the model length";
    case SubmitOutcome::no_such_rank: return "the engine has no such rank";
    case SubmitOutcome::queue_full: return "the queue is full";
  }
  return "";
}

SubmitOutcome judge(const EngineConfig& config, const EngineRequest& request) {
  if (request.prompt < Tokens(1)) return SubmitOutcome::empty_prompt;
  if (request.output < Tokens(1)) return SubmitOutcome::empty_output;
  if (request.prompt >= config.model_length()) return SubmitOutcome::prompt_too_long;
  if (request.rank >= config.ranks) return SubmitOutcome::no_such_rank;
  return SubmitOutcome::accepted;
}

Fate fate_of(const EngineConfig& config, const EngineRequest& request) {
  const Tokens room = config.model_length() - request.prompt;
  if (request.output > room) return {room.value(), FinishReason::length};
  return {request.output.value(), request.ends_with};
}

Result<std::unique_ptr<EngineModel>> make_engine(const EngineConfig& config) {
  if (auto ok = validate(config); !ok) return tl::unexpected<Error>(ok.error());
  if (std::holds_alternative<RateLaw>(config.law)) return std::make_unique<RateEngine>(config);
  return std::make_unique<EngineGroup>(config);
}

}  // namespace evenkeel::engine
