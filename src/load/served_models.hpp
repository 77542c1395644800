#pragma once

#include <string>
#include <vector>

#include "http/address.hpp"
#include "http/loop.hpp"
#include "load/options.hpp"

namespace evenkeel::load {

/// The ids that GET /v1/models lists, in its order; empty if the server does not answer within ten seconds or
/// answers otherwise. Sends the options' headers.
http::Task<std::vector<std::string>> served_models(http::Fiber& fiber, const http::Address& to, const http::Url& url,
                                                   const ReplayOptions& options);

}  // namespace evenkeel::load
