#include "load/engine_watch.hpp"

#include <simdjson.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace evenkeel::load {

namespace {

using http::ClientStatus;
using http::Fiber;
using http::Task;

constexpr std::size_t longest_page = 8U << 20U;
constexpr Duration patience = std::chrono::seconds(10);

bool good(const http::FetchResult& answer) { return answer.status == ClientStatus::ok && answer.code == 200; }

std::string words_of(const http::FetchResult& answer) {
  return answer.status == ClientStatus::ok ? fmt::format("answered {}", answer.code)
                                           : std::string(http::to_string(answer.status));
}

/// Whether what lists its models so is a router of ours, which could send requests anywhere.
bool is_router(const std::string& models_body) {
  simdjson::dom::parser parser;
  simdjson::dom::array cards;
  if (parser.parse(models_body)["data"].get(cards) != simdjson::SUCCESS) return false;
  return std::any_of(cards.begin(), cards.end(), [](simdjson::dom::element card) {
    std::string_view owner;
    return card["owned_by"].get(owner) == simdjson::SUCCESS && owner == "evenkeel";
  });
}

Result<engines::ModelCard> choose_model(const std::vector<engines::ModelCard>& cards, const std::string& wanted) {
  std::vector<engines::ModelCard> fitting;
  std::copy_if(cards.begin(), cards.end(), std::back_inserter(fitting),
               [&](const engines::ModelCard& card) { return wanted.empty() ? !card.adapter : card.id == wanted; });
  if (fitting.size() == 1) return fitting.front();
  std::vector<std::string_view> ids;
  for (std::size_t i = 0; i < std::min<std::size_t>(cards.size(), 20); ++i) ids.emplace_back(cards[i].id);
  const std::string served = fmt::format("\"{}\"", fmt::join(ids, "\", \""));
  if (cards.empty()) return failure("the engine serves no model");
  return failure(wanted.empty()
                     ? fmt::format("the engine serves several models; say which: --model (allowed: {})", served)
                     : fmt::format("--model is \"{}\" (allowed: {})", wanted, served));
}

}  // namespace

void EngineWatch::look_at(http::Url url, http::Address address) {
  url_ = std::move(url);
  address_ = address;
}

Task<http::FetchResult> EngineWatch::get(Fiber& fiber, std::string_view path) {
  http::ClientRequest request;
  request.path = url_.base_path + std::string(path);
  request.host = url_.authority();
  request.fields = headers_;
  const Time deadline = fiber.loop().now() + patience;
  co_return co_await http::fetch(fiber, address_, std::move(request), deadline, longest_page);
}

Task<Result<calibrate::Measured>> EngineWatch::identify(Fiber& fiber, std::string wanted) {
  const auto models = co_await get(fiber, "/v1/models");
  if (!good(models)) co_return failure(fmt::format("/v1/models of the engine: {}", words_of(models)));
  const auto capabilities = co_await get(fiber, "/capabilities");
  if (is_router(models.body) || good(capabilities)) {
    co_return failure("this is a router, which may send requests on: give the url of the engine itself");
  }
  auto cards = engines::read_models(models.body);
  if (!cards) co_return tl::unexpected(cards.error());
  auto card = choose_model(*cards, wanted);
  if (!card) co_return tl::unexpected(card.error());

  engines::DetectionInput input;
  input.models_body = models.body;
  for (const auto& [path, into] : {std::pair<std::string_view, std::string*>{"/metrics", &input.metrics_body},
                                   {"/props", &input.props_body},
                                   {"/info", &input.info_body}}) {
    auto page = co_await get(fiber, path);
    if (good(page)) *into = std::move(page.body);
  }
  adapter_ = &engines::adapter(engines::detect(input));
  calibrate::Measured measured;
  measured.served_id = card->id;
  if (card->max_model_len) measured.max_model_len = card->max_model_len->value();
  measured.runtime = adapter_->name();
  if (!adapter_->version_path().empty()) {
    const auto page = co_await get(fiber, adapter_->version_path());
    if (good(page)) measured.version = engines::read_version(page.body);
  }
  co_return measured;
}

Task<engines::Report> EngineWatch::report(Fiber& fiber) {
  std::vector<std::string> bodies;
  for (const engines::Scrape& scrape : adapter_->scrapes()) {
    auto page = co_await get(fiber, scrape.path);
    bodies.push_back(good(page) ? std::move(page.body) : std::string());
  }
  if (bodies.empty()) co_return engines::Report{};
  co_return adapter_->read(bodies).whole;
}

Task<Result<RouterView>> EngineWatch::ask_router(Fiber& fiber, http::Url router, http::Address address,
                                                 std::string name) {
  http::ClientRequest request;
  request.path = router.base_path + "/workers";
  request.host = router.authority();
  const Time deadline = fiber.loop().now() + patience;
  const auto answer = co_await http::fetch(fiber, address, std::move(request), deadline, longest_page);
  if (!good(answer)) co_return failure(fmt::format("/workers of the router's admin API: {}", words_of(answer)));
  simdjson::dom::parser parser;
  simdjson::dom::array workers;
  if (parser.parse(answer.body).get(workers) != simdjson::SUCCESS) {
    co_return failure("/workers of the router's admin API is no list");
  }
  std::vector<std::string> names;
  for (const simdjson::dom::element worker : workers) {
    std::string_view called;
    std::string_view url;
    RouterView view;
    if (worker["name"].get(called) != simdjson::SUCCESS) continue;
    if (names.size() < 20) names.emplace_back(called);
    if (called != name) continue;
    if (worker["url"].get(url) != simdjson::SUCCESS || worker["in_flight"].get(view.in_flight) != simdjson::SUCCESS) {
      co_return failure(
          fmt::format("/workers of the router's admin API does not tell url and in_flight of \"{}\"", name));
    }
    view.url = url;
    co_return view;
  }
  co_return failure(fmt::format("--worker is \"{}\" (allowed: \"{}\")", name, fmt::join(names, "\", \"")));
}

}  // namespace evenkeel::load
