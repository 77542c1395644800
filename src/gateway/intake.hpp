#pragma once

#include <optional>
#include <string>

#include "gateway/client_side.hpp"
#include "gateway/error_body.hpp"
#include "gateway/request.hpp"
#include "gateway/shard.hpp"

namespace evenkeel::gateway {

/// Reads one request off a connection: head, then body (whole if it is small enough, else its first part with a
/// BodyStream for the rest), and understands it: endpoint, model, estimate, client, affinity.
class Intake {
 public:
  Intake(Shard& shard, ClientSide& client, http::MessageParser& parser)
      : shard_(shard), client_(client), parser_(parser) {}

  enum class Status : std::uint8_t { request, closed, refused };

  /// Waits for a head. closed: the connection ended or stayed silent, nothing is owed.
  http::Task<Status> read_head(Request& request);
  /// What can be said of the body without waiting, or nothing: then read_body() goes on. Call it first.
  std::optional<Status> body_at_hand(Request& request);
  /// Reads the body as far as needed. refused: error() is the answer.
  http::Task<Status> read_body(Request& request);
  /// Names the model and fills what routing needs. refused: error() is the answer.
  Status understand(Request& request);

  [[nodiscard]] const ApiError& error() const { return error_; }
  /// The refusal leaves bytes of this request unread: nothing else may come over the connection.
  [[nodiscard]] bool must_close() const { return must_close_; }
  [[nodiscard]] BodyStream* body_stream() { return stream_ ? &*stream_ : nullptr; }
  /// Drops the request's bytes from the connection's buffer, once nothing refers to them.
  void discard();

 private:
  Status refuse(int status, std::string_view code, std::string message, bool close = false);
  http::Task<bool> fill();
  /// What became of a body that came no further: the client went away, or its time is up.
  Status body_missing();
  http::Task<Status> read_chunked(Request& request);
  http::Task<Status> begin_stream(Request& request, bool chunked);
  Status take_whole(Request& request, std::size_t end);
  Status skim_whole(Request& request);
  void apply_alias(Request& request, const ModelName& name);
  void estimate(Request& request) const;
  /// What its prompt begins with, for a policy that makes something of it.
  void note_prefix(Request& request);
  /// Who asks and under which id, from the head: a request that is refused early has them too.
  void identify_client(Request& request);
  /// Whether another router forwards it.
  void identify_peer(Request& request);
  void find_affinity(Request& request) const;
  [[nodiscard]] bool wants_json(const Request& request) const;

  Shard& shard_;
  ClientSide& client_;
  http::MessageParser& parser_;
  std::optional<BodyStream> stream_;
  std::string head_copy_;
  std::optional<ClientKey> host_key_;  ///< of a client that is known by its address only
  ApiError error_;
  bool must_close_ = false;
};

}  // namespace evenkeel::gateway
