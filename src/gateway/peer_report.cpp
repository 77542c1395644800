#include "gateway/peer_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "observe/counters.hpp"
#include "report/table.hpp"

namespace evenkeel::gateway {

namespace json = boost::json;

namespace {

json::value text_or_null(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object print_json(const peers::Fingerprint& print) {
  return {{"served_id", text_or_null(print.served_id)},
          {"max_model_len", or_null(print.max_model_len)},
          {"runtime", text_or_null(print.runtime)},
          {"quantization", text_or_null(print.quantization)},
          {"kv_cache_dtype", text_or_null(print.kv_cache_dtype)},
          {"reasoning_parser", text_or_null(print.reasoning_parser)},
          {"tool_parser", text_or_null(print.tool_parser)},
          {"speculative_config", text_or_null(print.speculative_config)}};
}

json::object model_json(const PeerBoard::Row& row) {
  json::array rates;
  for (const fleet::RatePoint& point : row.rates) rates.push_back(json::array{point.level, point.rate});
  return {{"model", row.served},
          {"usable", row.share.usable},
          {"why_not", text_or_null(row.share.why_not)},
          {"ready", row.ready},
          {"slots", row.share.slots},
          {"max_in_flight", row.share.max_in_flight},
          {"open", row.open},
          {"foreign", row.share.foreign},
          {"taken_on", row.taken_on},
          {"sent", row.sent},
          {"sent_back", row.sent_back},
          {"capacity", or_null(row.capacity)},
          {"capacity_note", text_or_null(row.capacity_note)},
          {"forward_delay_ms", to_millis(row.forward_delay)},
          {"rates", std::move(rates)},
          {"rates_note", text_or_null(row.rates_note)},
          {"fingerprint", print_json(row.fingerprint)}};
}

std::string_view kind_of(const PeerBoard& board, const PeerBoard::BoxRow& box) {
  if (!box.answered && board.setting(box.peer).kind == "auto") return "unknown";
  return box.evenkeel ? "evenkeel" : "lobes";
}

}  // namespace

std::string peers_json(const PeerBoard& board) {
  const auto rows = board.rows();
  json::array all;
  for (const PeerBoard::BoxRow& box : board.boxes()) {
    const config::PeerSetting& setting = board.setting(box.peer);
    json::array models;
    for (const PeerBoard::Row& row : rows) {
      if (row.peer == box.peer) models.push_back(model_json(row));
    }
    const auto kind = kind_of(board, box);
    json::value age = nullptr;
    if (box.answered) age = *box.answered / std::chrono::milliseconds(1);
    all.push_back({{"name", setting.name},
                   {"url", setting.url},
                   {"kind", json::string_view(kind.data(), kind.size())},
                   {"up", box.up},
                   {"calls_itself", text_or_null(box.name)},
                   {"instance", text_or_null(box.instance)},
                   {"answered_ms_ago", std::move(age)},
                   {"probes_lost", box.lost},
                   {"last_error", text_or_null(box.last_error)},
                   {"models", std::move(models)}});
  }
  return json::serialize(all);
}

std::string peers_table(const PeerBoard& board) {
  using report::Align;
  report::Table table({{"peer", Align::left},
                       {"kind", Align::left},
                       {"model", Align::left},
                       {"usable", Align::left},
                       {"slots"},
                       {"open"},
                       {"foreign"},
                       {"taken on"},
                       {"sent"},
                       {"sent back"},
                       {"note", Align::left}});
  const auto rows = board.rows();
  for (const PeerBoard::BoxRow& box : board.boxes()) {
    const std::string name = board.setting(box.peer).name;
    const std::string kind(kind_of(board, box));
    bool any = false;
    for (const PeerBoard::Row& row : rows) {
      if (row.peer != box.peer) continue;
      any = true;
      table.add_row({name, kind, row.served, row.share.usable ? "yes" : "no", fmt::format("{}", row.share.slots),
                     fmt::format("{}", row.open), fmt::format("{:g}", row.share.foreign),
                     fmt::format("{}", row.taken_on), fmt::format("{}", row.sent), fmt::format("{}", row.sent_back),
                     row.share.why_not.empty() ? row.capacity_note : row.share.why_not});
    }
    if (any) continue;
    const std::string why = box.answered ? "it serves nothing that is shared" : "it has not answered yet";
    table.add_row({name, kind, "-", "no", "", "", "", "", "", "", box.last_error.empty() ? why : box.last_error});
  }
  return table.text();
}

std::string peer_metrics(const PeerBoard& board) {
  using observe::append_help;
  using observe::append_sample;
  using observe::label_value;
  std::string out;
  const auto boxes = board.boxes();
  const auto rows = board.rows();
  const auto by_peer = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    append_help(out, name, type, help);
    for (const PeerBoard::BoxRow& box : boxes) {
      append_sample(out, name, fmt::format("peer=\"{}\"", label_value(board.setting(box.peer).name)),
                    static_cast<double>(value(box)));
    }
  };
  const auto by_model = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    append_help(out, name, type, help);
    for (const PeerBoard::Row& row : rows) {
      append_sample(
          out, name,
          fmt::format("peer=\"{}\",model=\"{}\"", label_value(board.setting(row.peer).name), label_value(row.served)),
          static_cast<double>(value(row)));
    }
  };
  by_peer("evenkeel_peer_up", "gauge", "1 if the peer answers.", [](const auto& box) { return box.up ? 1 : 0; });
  by_peer("evenkeel_peer_probes_lost_total", "counter", "Probes that brought nothing.",
          [](const auto& box) { return box.lost; });
  by_model("evenkeel_peer_usable", "gauge", "1 if requests of the model can be sent to the peer.",
           [](const auto& row) { return row.share.usable ? 1 : 0; });
  by_model("evenkeel_peer_slots", "gauge", "Requests that it serves at once, clamped; 0 = it cannot be used.",
           [](const auto& row) { return row.share.slots; });
  by_model("evenkeel_peer_open", "gauge", "Requests of ours there.", [](const auto& row) { return row.open; });
  by_model("evenkeel_peer_foreign", "gauge", "Requests of others there.",
           [](const auto& row) { return row.share.foreign; });
  by_model("evenkeel_peer_taken_on", "gauge", "Requests of the peer here.",
           [](const auto& row) { return row.taken_on; });
  by_model("evenkeel_peer_sent_total", "counter", "Requests sent to the peer.",
           [](const auto& row) { return row.sent; });
  by_model("evenkeel_peer_sent_back_total", "counter", "Those that it had no slot for.",
           [](const auto& row) { return row.sent_back; });
  return out;
}

}  // namespace evenkeel::gateway
