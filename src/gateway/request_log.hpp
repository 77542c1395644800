#pragma once

#include "gateway/request.hpp"
#include "gateway/shard.hpp"

namespace evenkeel::gateway {

/// The request is over: counts it and writes its line. Everything told comes from the request's own record.
void log_request(Shard& shard, const Request& request);

}  // namespace evenkeel::gateway
