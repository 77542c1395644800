#include "load/request_maker.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::load {

using workload::RequestIndex;

namespace {

/// A name out of a trace as a header value: it may hold anything.
std::string header_safe(std::string_view name) {
  std::string out(name.substr(0, 128));
  for (char& c : out) {
    if (c < '!' || c > '~') c = '_';
  }
  return out;
}

}  // namespace

std::int64_t default_loose_bound(const workload::Trace& trace) {
  std::int64_t longest = 0;
  for (const auto& request : trace.requests) longest = std::max(longest, request.output_tokens.value());
  std::int64_t bound = 1024;
  while (bound < longest) bound *= 2;
  return bound;
}

RequestMaker::RequestMaker(const ReplayOptions& options, const http::Url& url, const workload::Trace& trace)
    : options_(options),
      trace_(trace),
      prompts_(options.seed),
      path_(url.base_path + (options.api == Api::chat ? "/v1/chat/completions" : "/v1/completions")),
      host_(url.authority()),
      loose_bound_(options.loose_bound > 0 ? options.loose_bound : default_loose_bound(trace)) {
  if (options.api == Api::completions && options.output_bound == OutputBound::absent) {
    notes_.emplace_back("completions without max_tokens: most engines then end an answer after 16 tokens");
  }
}

Result<RequestMaker> RequestMaker::create(const ReplayOptions& options, const http::Url& url,
                                          const workload::Trace& trace, const std::vector<std::string>& served) {
  RequestMaker maker(options, url, trace);
  if (auto chosen = maker.choose_models(served); !chosen) return tl::unexpected(chosen.error());
  return maker;
}

Result<void> RequestMaker::choose_models(const std::vector<std::string>& served) {
  if (!options_.model.empty()) {
    fallback_model_ = options_.model;
    return {};
  }
  std::set<std::string_view> named;
  for (const auto& request : trace_.requests) named.insert(trace_.name(request.model));
  std::vector<std::string_view> unknown;
  for (const auto name : named) {
    const bool usable = served.empty() ? !name.empty() : std::count(served.begin(), served.end(), name) > 0;
    if (usable) {
      servable_.emplace_back(name);  // in order, as the set is
    } else if (!name.empty()) {
      unknown.push_back(name);
    }
  }
  if (servable_.size() == named.size()) return {};
  if (served.empty()) {
    return failure("the trace names no model for some requests and the server lists none; --model is wanted");
  }
  fallback_model_ = served.front();
  if (!unknown.empty()) {
    notes_.push_back(fmt::format("the server serves none of \"{}\"; their requests ask for \"{}\"",
                                 fmt::join(unknown, "\", \""), fallback_model_));
  } else {
    notes_.push_back(fmt::format("requests ask for \"{}\", the first model the server lists", fallback_model_));
  }
  return {};
}

std::string RequestMaker::prompt(RequestIndex place) const {
  std::string text = prompts_.text(trace_, place);
  if (text.empty()) prompts_.append_unique(text, Tokens(1), place);  // engines refuse an empty prompt
  return text;
}

std::string RequestMaker::body(RequestIndex place) const {
  const auto& request = trace_.requests[place];
  const auto model = trace_.name(request.model);
  const bool own = std::binary_search(servable_.begin(), servable_.end(), model, std::less<>());
  const std::string text = prompt(place);
  std::string out;
  out.reserve(text.size() + 256);
  out += R"({"model":)";
  append_json_string(out, own ? model : std::string_view(fallback_model_));
  out += options_.api == Api::chat ? R"(,"messages":[{"role":"user","content":)" : R"(,"prompt":)";
  append_json_string(out, text);
  if (options_.api == Api::chat) out += "}]";
  if (options_.stream) out += R"(,"stream":true,"stream_options":{"include_usage":true})";
  if (options_.output_bound == OutputBound::loose) out += fmt::format(R"(,"max_tokens":{})", loose_bound_);
  if (options_.output_bound == OutputBound::exact) {
    out += fmt::format(R"(,"max_tokens":{})", std::max<std::int64_t>(1, request.output_tokens.value()));
    if (options_.ignore_eos) out += R"(,"ignore_eos":true)";
  }
  out += '}';
  return out;
}

http::ClientRequest RequestMaker::make(RequestIndex place) const {
  const auto& request = trace_.requests[place];
  http::ClientRequest out;
  out.method = "POST";
  out.path = path_;
  out.host = host_;
  out.fields = options_.headers;
  out.fields.emplace_back("Content-Type", "application/json");
  // An engine that only exists as a model has no mind of its own; the router must not read this.
  out.fields.emplace_back("X-Emulate-Output-Tokens",
                          fmt::format("{}", std::max<std::int64_t>(1, request.output_tokens.value())));
  if (const auto name = trace_.name(request.session); !name.empty()) {
    out.fields.emplace_back("X-Session-Id", header_safe(name));
  }
  if (const auto name = trace_.name(request.client); !name.empty()) {
    out.fields.emplace_back("X-Client-Id", header_safe(name));
  }
  out.body = body(place);
  return out;
}

}  // namespace evenkeel::load
