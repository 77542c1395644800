#include "emulator/request.hpp"

#include <limits>

#include <fmt/format.h>

#include "emulator/text.hpp"

namespace evenkeel::emulator {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

/// Bodies up to a megabyte share one parser; a large one brings its own, so that its memory is not kept.
class Parser {
 public:
  explicit Parser(std::size_t body_bytes) {
    constexpr std::size_t kept = 1U << 20U;
    if (body_bytes > kept) own_.emplace();
  }
  simdjson::dom::parser& get() {
    thread_local simdjson::dom::parser shared;
    return own_ ? *own_ : shared;
  }

 private:
  std::optional<simdjson::dom::parser> own_;
};

/// The first fault of the body, else that it asks for another model than the one served.
std::optional<ApiError> fault_of(JsonBody& body, std::string_view served) {
  const auto name = body.text("model");
  if (body.fault() || !name || name->empty() || *name == served) return body.fault();
  return ApiError{404, "NotFoundError", fmt::format("The model `{}` does not exist.", *name), "model"};
}

void read_stream_options(JsonBody& body, GenerationRequest& request) {
  const auto options = body.find("stream_options");
  if (!options) return;
  simdjson::dom::object object;
  if (options->get(object) != simdjson::SUCCESS) {
    body.reject("stream_options", "an object");
    return;
  }
  if (!request.stream) {
    body.reject("stream_options", "nothing unless stream is true");
    return;
  }
  JsonBody inner(object);
  request.include_usage = inner.flag("include_usage");
  request.continuous_usage = request.include_usage && inner.flag("continuous_usage_stats");
  if (inner.fault()) body.reject("stream_options", "an object of include_usage and continuous_usage_stats");
}

/// What else must be equal for KV to be shared.
std::string_view read_cache_salt(JsonBody& body) {
  const auto salt = body.text("cache_salt");
  if (salt && salt->empty()) body.reject("cache_salt", "a text that is not empty");
  return salt.value_or(std::string_view());
}

void read_prompt(JsonBody& body, GenerationRequest& request, std::int64_t block_tokens) {
  const PromptReading wanted{request.return_token_ids, block_tokens, read_cache_salt(body)};
  switch (request.endpoint) {
    case Endpoint::completions: request.prompts = read_prompts(body, "prompt", wanted); break;
    case Endpoint::chat: request.prompts.push_back(read_messages(body, "messages", "", wanted)); break;
    case Endpoint::messages: request.prompts.push_back(read_messages(body, "messages", "system", wanted)); break;
    case Endpoint::responses: {
      const auto input = body.find("input");
      if (input && input->is_string()) {
        request.prompts = read_prompts(body, "input", wanted);
      } else {
        request.prompts.push_back(read_messages(body, "input", "instructions", wanted));
      }
      break;
    }
  }
}

void read_bounds(JsonBody& body, GenerationRequest& request) {
  switch (request.endpoint) {
    case Endpoint::responses: request.max_tokens = body.whole("max_output_tokens", 1, most_tokens); break;
    case Endpoint::messages:
      request.max_tokens = body.whole("max_tokens", 1, most_tokens);
      if (!request.max_tokens) body.reject("max_tokens", "a whole number from 1");
      break;
    case Endpoint::chat: {
      const auto older = body.whole("max_tokens", 1, most_tokens);
      const auto newer = body.whole("max_completion_tokens", 1, most_tokens);
      request.max_tokens = newer ? newer : older;
      break;
    }
    case Endpoint::completions: request.max_tokens = body.whole("max_tokens", 1, most_tokens); break;
  }
  request.min_tokens = body.whole("min_tokens", 0, most_tokens).value_or(0);
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    body.reject("min_tokens", "at most max_tokens");
  }
  request.ignore_eos = body.flag("ignore_eos");
}

/// The answer would be another one than asked for, so better none.
void refuse_what_is_not_emulated(JsonBody& body, GenerationRequest& request) {
  if (request.endpoint == Endpoint::completions && body.flag("echo")) body.reject("echo", "false; it is not emulated");
}

}  // namespace

tl::expected<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view bytes,
                                                           std::string_view model, std::int64_t block_tokens) {
  Parser parser(bytes.size());
  auto body = JsonBody::parse(parser.get(), bytes);
  if (!body) return tl::unexpected(body.error());
  GenerationRequest request;
  request.endpoint = endpoint;
  request.stream = body->flag("stream");
  const bool openai = endpoint == Endpoint::chat || endpoint == Endpoint::completions;
  if (openai) {
    read_stream_options(*body, request);
    request.n = body->whole("n", 1, most_sequences).value_or(1);
    request.return_token_ids = body->flag("return_token_ids");
    request.kv = read_kv_transfer(*body);
    request.bootstrap = read_bootstrap(*body);
  }
  read_prompt(*body, request, block_tokens);
  read_bounds(*body, request);
  refuse_what_is_not_emulated(*body, request);
  request.sampling_seed =
      body->whole("seed", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  constexpr std::size_t longest_id = 512;
  if (const auto id = body->text("request_id"); id && id->size() <= longest_id) request.request_id = *id;
  if (static_cast<std::int64_t>(request.prompts.size()) * request.n > most_sequences) {
    body->reject("n", fmt::format("at most {} answers in one request", most_sequences));
  }
  if (auto fault = fault_of(*body, model)) return tl::unexpected(*std::move(fault));
  return request;
}

tl::expected<EmbeddingRequest, ApiError> parse_embedding(std::string_view bytes, std::string_view model) {
  Parser parser(bytes.size());
  auto body = JsonBody::parse(parser.get(), bytes);
  if (!body) return tl::unexpected(body.error());
  EmbeddingRequest request;
  request.inputs = read_prompts(*body, "input", {});
  request.dimensions = body->whole("dimensions", 1, 4096).value_or(request.dimensions);
  const auto format = body->text("encoding_format").value_or("float");
  request.base64 = format == "base64";
  if (format != "float" && format != "base64") body->reject("encoding_format", "float or base64");
  if (auto fault = fault_of(*body, model)) return tl::unexpected(*std::move(fault));
  return request;
}

tl::expected<Prompt, ApiError> parse_tokenize(std::string_view bytes, std::string_view model) {
  Parser parser(bytes.size());
  auto body = JsonBody::parse(parser.get(), bytes);
  if (!body) return tl::unexpected(body.error());
  Prompt prompt;
  if (body->find("messages")) {
    prompt = read_messages(*body, "messages", "system", {.keep_ids = true});  // the latter as /v1/messages has it
  } else if (const auto text = body->text("prompt")) {
    PromptReader reader({.keep_ids = true});
    reader.text(*text);
    prompt = {reader.tokens(), reader.hash(), reader.take_ids(), {}};
  } else {
    body->reject("prompt", "a text (or messages instead)");
  }
  if (auto fault = fault_of(*body, model)) return tl::unexpected(*std::move(fault));
  return prompt;
}

tl::expected<std::vector<std::int64_t>, ApiError> parse_detokenize(std::string_view bytes, std::string_view model) {
  Parser parser(bytes.size());
  auto body = JsonBody::parse(parser.get(), bytes);
  if (!body) return tl::unexpected(body.error());
  std::vector<std::int64_t> ids;
  const auto tokens = body->find("tokens");
  simdjson::dom::array list;
  bool fine = tokens && tokens->get(list) == simdjson::SUCCESS;
  if (fine) {
    for (const auto each : list) {
      const auto id = whole_of(each);
      fine = fine && id && *id >= 0 && *id < vocabulary_size;
      ids.push_back(id.value_or(0));
    }
  }
  if (!fine) body->reject("tokens", fmt::format("a list of token ids below {}", vocabulary_size));
  if (auto fault = fault_of(*body, model)) return tl::unexpected(*std::move(fault));
  return ids;
}

}  // namespace evenkeel::emulator
