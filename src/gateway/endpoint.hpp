#pragma once

#include <cstdint>
#include <string_view>

namespace evenkeel::gateway {

/// How an endpoint's streams say that they are whole, and in which shape its errors come.
enum class Dialect : std::uint8_t {
  openai,     ///< data: [DONE]; {"error":{message,type,param,code}}
  responses,  ///< response.completed | incomplete | failed
  messages,   ///< message_stop; {"type":"error","error":{type,message}}
  opaque,     ///< nothing is known of its streams; the transport's end is the end
};

enum class Route : std::uint8_t {
  model_body,   ///< POST with a JSON body that names the model
  multipart,    ///< passed through; the model is not read
  response_id,  ///< /v1/responses/{id}[/cancel]: to the worker that made the id
  models,       ///< answered here
  health,
  ready,
  version,
  metrics,      ///< answered here if switched on
  peer_status,  ///< answered here where a peer is declared, as the next two
  peer_capabilities,
  peer_news,
  other,    ///< under /v1/: by the model in the body if there is one, else the only worker
  unknown,  ///< 404
};

struct Endpoint {
  Route route = Route::unknown;
  Dialect dialect = Dialect::opaque;
  std::string_view label;  ///< of a closed set, for metrics
  std::string_view id;     ///< of response_id
};

/// `path` without query; one trailing slash is passed over. Paths between routers are known only with `peers`.
[[nodiscard]] Endpoint find_endpoint(std::string_view path, bool peers = false);

}  // namespace evenkeel::gateway
