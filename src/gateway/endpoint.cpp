#include "gateway/endpoint.hpp"

#include <array>

namespace evenkeel::gateway {

namespace {
struct Row {
  std::string_view path;
  Route route;
  Dialect dialect;
};
constexpr std::array rows = {
    Row{"/v1/chat/completions", Route::model_body, Dialect::openai},
    Row{"/v1/completions", Route::model_body, Dialect::openai},
    Row{"/v1/embeddings", Route::model_body, Dialect::openai},
    Row{"/v1/responses", Route::model_body, Dialect::responses},
    Row{"/v1/messages", Route::model_body, Dialect::messages},
    Row{"/v1/rerank", Route::model_body, Dialect::openai},
    Row{"/rerank", Route::model_body, Dialect::openai},
    Row{"/v1/score", Route::model_body, Dialect::openai},
    Row{"/tokenize", Route::model_body, Dialect::openai},
    Row{"/detokenize", Route::model_body, Dialect::openai},
    Row{"/v1/models", Route::models, Dialect::openai},
    Row{"/health", Route::health, Dialect::opaque},
    Row{"/ready", Route::ready, Dialect::opaque},
    Row{"/version", Route::version, Dialect::opaque},
    Row{"/metrics", Route::metrics, Dialect::opaque},
};
constexpr std::array peer_rows = {
    Row{"/status", Route::peer_status, Dialect::opaque},
    Row{"/capabilities", Route::peer_capabilities, Dialect::opaque},
    Row{"/peers/news", Route::peer_news, Dialect::opaque},
};
}  // namespace

Endpoint find_endpoint(std::string_view path, bool peers) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (const Row& row : peer_rows) {
    if (peers && row.path == path) return {row.route, row.dialect, row.path, {}};
  }
  for (const Row& row : rows) {
    if (row.path == path) return {row.route, row.dialect, row.path, {}};
  }
  constexpr std::string_view audio = "/v1/audio/";
  constexpr std::string_view responses = "/v1/responses/";
  if (path.starts_with(audio)) return {Route::multipart, Dialect::opaque, "/v1/audio", {}};
  if (path.starts_with(responses)) {
    std::string_view id = path.substr(responses.size());
    id = id.substr(0, id.find('/'));
    if (!id.empty()) return {Route::response_id, Dialect::responses, "/v1/responses/{id}", id};
  }
  if (path.starts_with("/v1/")) return {Route::other, Dialect::opaque, "/v1/*", {}};
  return {Route::unknown, Dialect::opaque, "other", {}};
}

}  // namespace evenkeel::gateway
