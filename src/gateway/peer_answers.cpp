#include "gateway/peer_answers.hpp"

#include <simdjson.h>

#include <chrono>

#include <fmt/format.h>

#include "gateway/error_body.hpp"
#include "gateway/exchange.hpp"
#include "gateway/local_answers.hpp"
#include "gateway/peer_pages.hpp"
#include "gateway/pressure_watch.hpp"
#include "gateway/unix_time.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::size_t longest_news = 16U << 10U;

PressureWords words_of(const PressureLook& look) {
  PressureWords words;
  words.mode = pressure::to_string(look.verdict.mode);
  words.shed = look.shedding;
  words.reason = look.shedding ? "pressure" : "default";
  if (look.figures.swap_used_percent) words.swap_used_percent = *look.figures.swap_used_percent;
  if (look.figures.iowait_percent) words.iowait_percent = *look.figures.iowait_percent;
  return words;
}

RouterFacts facts_of(Shard& shard, std::optional<PeerNumber> asker) {
  PeerBoard& board = *shard.shared.peers;
  RouterFacts facts;
  facts.self = board.self();
  facts.now_ms = unix_ms();
  facts.publishes_capacity = shard.shared.settings.peer_options.capacities;
  facts.sheds = shard.shared.dispatcher.sheds();
  if (shard.shared.pressure != nullptr) facts.pressure = words_of(shard.shared.pressure->look());
  for (const HostedModel& model : *board.hosted()) {
    RouterFacts::Served& served = facts.served.emplace_back();
    served.model = model;
    served.lane = shard.shared.dispatcher.lane(model.model);
    served.rates = shard.shared.dispatcher.lane_rates(model.model);
    if (asker) served.load = board.load_for(*asker, model.model);
  }
  return facts;
}

/// The model and the load that a body of news tells of, or nothing.
struct News {
  std::string model;
  PeerLoad load;
};
std::optional<News> read_news(const std::string& body) {
  if (body.empty() || body.size() > longest_news) return std::nullopt;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view model, text;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["model"].get(model) != simdjson::SUCCESS ||
      root["load"].get(text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto load = read_load(text);
  return load ? std::optional(News{std::string(model), *load}) : std::nullopt;
}

}  // namespace

std::string peer_status(Shard& shard, const ClientSide& client, const Request& request) {
  const auto asker = shard.shared.peers->identify(client.host, *request.head, request.head_bytes);
  return status_page(facts_of(shard, asker));
}

std::string peer_capabilities(Shard& shard) {
  PeerBoard& board = *shard.shared.peers;
  ReplicaFacts facts;
  facts.here = facts_of(shard, {});
  facts.rows = board.rows();
  for (const config::PeerSetting& peer : shard.shared.settings.peers) facts.origins.push_back(peer.url);
  for (const PeerBoard::Row& row : facts.rows) {
    std::vector<std::string>& aliases = facts.aliases.emplace_back();
    for (const auto& model : shard.shared.settings.models) {
      if (model.name == row.served) aliases = model.aliases;
    }
  }
  return capabilities_page(facts);
}

void take_peer_news(Shard& shard, ClientSide& client, Request& request) {
  PeerBoard& board = *shard.shared.peers;
  const auto from = board.identify(client.host, *request.head, request.head_bytes);
  if (!from || request.method != "POST") {
    return answer_not_found(shard, client, request, fmt::format("There is nothing at {}.", request.path));
  }
  const auto news = request.streamed ? std::nullopt : read_news(request.body);
  if (!news) {
    request.outcome = fleet::Outcome::client_fault;
    request.fault = "malformed_news";
    ApiError error;
    error.status = 400;
    error.type = "invalid_request_error";
    error.code = "malformed_news";
    error.message = "News are a JSON object with the texts \"model\" and \"load\".";
    return answer_error(shard, client, request, error);
  }
  // Of a model that is not shared it tells nothing.
  if (const ModelName* model = shard.fleet->find(news->model)) board.pushed(*from, model->id, news->load);
  answer_json(shard, client, request, 204, {});
}

}  // namespace evenkeel::gateway
