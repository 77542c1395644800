#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "affinity/block_chain.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "config/settings.hpp"
#include "dispatch/submission.hpp"
#include "fleet/outcome.hpp"
#include "fleet/view.hpp"
#include "gateway/body_skim.hpp"
#include "gateway/endpoint.hpp"
#include "gateway/request_peers.hpp"
#include "http/message.hpp"

namespace evenkeel::gateway {

/// `from` + `limit`, or never for a limit that is off.
[[nodiscard]] inline Time deadline_after(Time from, Duration limit) {
  return limit == Duration(0) ? Time::max() : from + limit;
}

/// One request as the pipeline carries it from its head to its log line. Lives in the connection's frame; the
/// views in it are of the connection's input buffer, which stands still until the answer has begun.
struct Request {
  // As it came.
  Time arrived{};
  const http::Head* head = nullptr;
  std::string_view head_bytes;
  std::string_view method;
  std::string_view path;    ///< without query
  std::string_view target;  ///< with query
  Endpoint endpoint;
  std::string id;            ///< X-Request-Id, the client's or ours
  std::string client_label;  ///< for the log: a header's name and a hash, or the address
  ClientKey client;
  bool http10 = false;
  bool head_only = false;  ///< HEAD

  // The body: whole in `body`, or, if `streamed`, its first part.
  std::string body;  ///< as it goes up (edits done)
  bool streamed = false;
  bool chunked_up = false;      ///< length unknown: goes up chunked
  std::uint64_t up_length = 0;  ///< Content-Length that goes up, unless chunked_up
  /// Prefill and decode on separate workers: what the bodies of the two legs are made from.
  struct LegBodies {
    std::string whole;
    std::string prefill;
  };
  std::unique_ptr<LegBodies> legs;
  std::uint64_t body_bytes = 0;  ///< size as the client sent it, so far
  BodySkim::Facts facts;

  // Where it belongs.
  ModelId model;
  std::string model_label;  ///< as served, or "unknown"
  config::Timeouts timeouts;
  Tokens prompt_estimate;
  std::uint64_t affinity_key = 0;
  std::uint64_t prompt_key = 0;                         ///< see prompt_key(); 0 = none
  std::shared_ptr<affinity::PromptChain> prefix;        ///< see prompt_prefix(); null = none
  std::shared_ptr<const dispatch::ToldHits> told_hits;  ///< of a prompt in tokens, where engines tell what they hold
  bool never_shed = false;                              ///< as of Submission
  std::unique_ptr<RequestPeers> peers;                  ///< null: this router has none

  // What became of it.
  int attempts = 0;
  int status = 0;  ///< sent to the client
  fleet::Outcome outcome = fleet::Outcome::cancelled;
  std::optional<fleet::Refusal> refusal;
  std::string_view fault;      ///< a literal: what went wrong, for the log
  std::string worker;          ///< name of the last one tried
  std::string prefill_worker;  ///< name of the last one tried; empty: the request stayed whole
  bool kept_whole = false;     ///< though its model has prefill workers
  int prefills = 0;            ///< that were begun; each goes by an id of its own
  Duration prefilling{};       ///< at prefill workers
  fleet::Receipt receipt;
  Duration queued{};
  std::optional<Time> first_byte;
  std::uint64_t bytes_out = 0;
  Tokens prompt_tokens;
  Tokens output_tokens;
  std::optional<Tokens> expected_hit;   ///< as of the receipt; of the prefill, if that is on a worker of its own
  std::optional<Tokens> cached_tokens;  ///< that the engine says it found in its prefix cache
  fleet::TokenSource prompt_from = fleet::TokenSource::none;
  fleet::TokenSource output_from = fleet::TokenSource::none;
};

}  // namespace evenkeel::gateway
