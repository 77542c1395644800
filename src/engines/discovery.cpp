#include "engines/discovery.hpp"

#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "engines/json.hpp"
#include "engines/prometheus.hpp"

namespace evenkeel::engines {
namespace {

using Evidence = std::pair<std::string_view, Kind>;
constexpr std::array<Evidence, 3> owners = {
    {{"vllm", Kind::vllm}, {"sglang", Kind::sglang}, {"llamacpp", Kind::llama_cpp}}};
constexpr std::array<Evidence, 5> metric_prefixes = {{{"vllm:", Kind::vllm},
                                                      {"sglang:", Kind::sglang},
                                                      {"sglang_", Kind::sglang},
                                                      {"llamacpp:", Kind::llama_cpp},
                                                      {"tgi_", Kind::tgi}}};

std::optional<Kind> by_owner(std::string_view models_body) {
  const Json json(models_body);
  const auto data = json.root() ? member(*json.root(), "data") : std::nullopt;
  simdjson::dom::array cards;
  if (!data || data->get(cards) != simdjson::SUCCESS) return std::nullopt;
  for (const simdjson::dom::element card : cards) {
    const std::string_view owner = text_member(card, "owned_by");
    for (const auto& [name, kind] : owners) {
      if (owner == name) return kind;
    }
  }
  return std::nullopt;
}

std::optional<Kind> by_metrics(std::string_view page) {
  if (page.size() > max_metrics_bytes) return std::nullopt;
  while (const auto sample = next_sample(page)) {
    for (const auto& [prefix, kind] : metric_prefixes) {
      if (sample->name.starts_with(prefix)) return kind;
    }
  }
  return std::nullopt;
}

std::optional<Kind> by_own_page(const DetectionInput& input) {
  const Json props(input.props_body);
  if (props.root() && member(*props.root(), "default_generation_settings")) return Kind::llama_cpp;
  const Json info(input.info_body);
  if (info.root() && text_member(*info.root(), "router").starts_with("text-generation-router")) return Kind::tgi;
  return std::nullopt;
}

std::optional<Tokens> context_of(simdjson::dom::element card) {
  auto length = amount_member(card, "max_model_len");
  if (!length) {
    if (const auto meta = member(card, "meta")) length = amount_member(*meta, "n_ctx");  // llama.cpp, of one slot
  }
  if (!length || *length < 1) return std::nullopt;
  return Tokens(static_cast<std::int64_t>(*length));
}

}  // namespace

Kind detect(const DetectionInput& input) {
  if (const auto kind = by_owner(input.models_body)) return *kind;
  if (const auto kind = by_metrics(input.metrics_body)) return *kind;
  return by_own_page(input).value_or(Kind::openai);
}

std::string read_version(std::string_view body) {
  constexpr std::size_t longest = 128;
  const Json json(body);
  return json.root() ? std::string(text_member(*json.root(), "version").substr(0, longest)) : std::string();
}

Result<std::vector<ModelCard>> read_models(std::string_view body) {
  const Json json(body);
  if (!json.root()) return failure(fmt::format("the answer to /v1/models is no JSON ({} bytes)", body.size()));
  const auto data = member(*json.root(), "data");
  simdjson::dom::array cards;
  if (!data || data->get(cards) != simdjson::SUCCESS) return failure("the answer to /v1/models has no list \"data\"");
  std::vector<ModelCard> models;
  std::unordered_set<std::string_view> seen;
  for (const simdjson::dom::element card : cards) {
    const std::string_view id = text_member(card, "id");
    if (id.empty()) return failure("a model of /v1/models has no string \"id\"");
    if (id.size() > max_model_id_bytes) {
      return failure(fmt::format("a model id of /v1/models has {} bytes (allowed: {})", id.size(), max_model_id_bytes));
    }
    if (!seen.insert(id).second) continue;
    if (models.size() == max_model_cards) {
      return failure(fmt::format("/v1/models lists more than {} models", max_model_cards));
    }
    // vLLM and SGLang name the model that an adapter is over as its parent.
    models.push_back({std::string(id), context_of(card), !text_member(card, "parent").empty()});
  }
  return models;
}

}  // namespace evenkeel::engines
