#pragma once

#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "gateway/fleet_map.hpp"
#include "gateway/request.hpp"
#include "http/message.hpp"

namespace evenkeel::gateway {

/// Appends the head that goes to the engine: the client's end-to-end fields as they came, less what is ours to say
/// (Host, lengths, Authorization unless forwarded, Accept-Encoding) and less the transfer and rank fields that only
/// a trusted client may send. The rank of the worker, if it is one, is added, and then a client's own never passes.
/// Where there are peers, what routers say to each other does not pass either, and what goes to one is marked.
void append_upstream_head(std::string& out, const Request& request, const Upstream& upstream,
                          const config::ServeSettings& settings);

/// How the body of an answer is framed towards the client.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

struct AnswerStyle {
  Framing framing = Framing::none;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool event_stream = false;
};

/// Appends the status line and fields of an engine's answer as the client gets it: end-to-end fields as they
/// came, hop-by-hop and CORS fields dropped, request id, receipt and CORS of our own added.
void append_answer_head(std::string& out, const http::Head& head, std::string_view head_bytes, const Request& request,
                        const config::ServeSettings& settings, const AnswerStyle& style);

/// Appends fields that every answer of ours carries: request id, CORS, receipt where there is one.
void append_own_fields(std::string& out, const Request& request, const config::ServeSettings& settings);

}  // namespace evenkeel::gateway
