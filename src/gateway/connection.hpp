#pragma once

#include <functional>

#include "http/address.hpp"
#include "http/loop.hpp"
#include "http/stream.hpp"

namespace evenkeel::gateway {

class Shard;

/// The life of one client connection: request after request, until either side is done with it.
http::Task<void> serve_connection(http::Fiber& fiber, std::reference_wrapper<Shard> shard, http::Stream stream,
                                  http::Address peer);

}  // namespace evenkeel::gateway
