#pragma once

#include <string>
#include <string_view>

#include "gateway/client_side.hpp"
#include "gateway/request.hpp"
#include "gateway/shard.hpp"

namespace evenkeel::gateway {

/// Answers what is not an engine's to answer: health, readiness, version, the model list, what peers ask and tell,
/// CORS preflights, wrong methods and unknown paths. False if the request is for a worker.
bool answer_locally(Shard& shard, ClientSide& client, Request& request);

void answer_not_found(Shard& shard, ClientSide& client, Request& request, std::string_view why);

/// The merged model list in OpenAI's shape.
[[nodiscard]] std::string model_list(const FleetMap& fleet);

}  // namespace evenkeel::gateway
