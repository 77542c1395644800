#include "load/served_models.hpp"

#include <simdjson.h>

#include <utility>

#include "http/client.hpp"

namespace evenkeel::load {

namespace {

std::vector<std::string> ids_of(const std::string& body) {
  std::vector<std::string> ids;
  simdjson::dom::parser parser;
  simdjson::dom::array models;
  if (parser.parse(body)["data"].get(models) != simdjson::SUCCESS) return ids;
  for (const simdjson::dom::element model : models) {
    std::string_view id;
    if (model["id"].get(id) == simdjson::SUCCESS && !id.empty() && id.size() <= 256) ids.emplace_back(id);
  }
  return ids;
}

}  // namespace

http::Task<std::vector<std::string>> served_models(http::Fiber& fiber, const http::Address& to, const http::Url& url,
                                                   const ReplayOptions& options) {
  constexpr std::size_t longest_list = 1U << 20U;
  http::ClientRequest request;
  request.path = url.base_path + "/v1/models";
  request.host = url.authority();
  request.fields = options.headers;
  const Time deadline = fiber.loop().now() + std::chrono::seconds(10);
  const auto answer = co_await http::fetch(fiber, to, std::move(request), deadline, longest_list);
  if (answer.status != http::ClientStatus::ok || answer.code != 200) co_return std::vector<std::string>{};
  co_return ids_of(answer.body);
}

}  // namespace evenkeel::load
