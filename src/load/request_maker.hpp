#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "http/address.hpp"
#include "http/client.hpp"
#include "load/options.hpp"
#include "workload/prompt_maker.hpp"
#include "workload/trace.hpp"

namespace evenkeel::load {

/// Turns the requests of a trace into HTTP requests. The output length goes into a header that only an
/// emulated engine reads; a trace's session and client go into X-Session-Id and X-Client-Id.
class RequestMaker {
 public:
  /// `served`: what the server says it serves, in its order; may be empty. Keeps references to `options` and
  /// `trace`. The error tells that a request would have no model.
  [[nodiscard]] static Result<RequestMaker> create(const ReplayOptions& options, const http::Url& url,
                                                   const workload::Trace& trace,
                                                   const std::vector<std::string>& served);

  /// O(prompt tokens).
  [[nodiscard]] http::ClientRequest make(workload::RequestIndex place) const;
  /// What was assumed, for a person.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  RequestMaker(const ReplayOptions& options, const http::Url& url, const workload::Trace& trace);
  Result<void> choose_models(const std::vector<std::string>& served);
  [[nodiscard]] std::string body(workload::RequestIndex place) const;
  [[nodiscard]] std::string prompt(workload::RequestIndex place) const;

  const ReplayOptions& options_;
  const workload::Trace& trace_;
  workload::PromptMaker prompts_;
  std::string path_;
  std::string host_;
  std::int64_t loose_bound_ = 0;
  std::string fallback_model_;         // for requests without a name that may be used
  std::vector<std::string> servable_;  // names of the trace that are sent as they are, sorted
  std::vector<std::string> notes_;
};

/// The bound that `loose` stands for when none is given.
[[nodiscard]] std::int64_t default_loose_bound(const workload::Trace& trace);

}  // namespace evenkeel::load
