#include "engines/router_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "engines/discovery.hpp"
#include "engines/json.hpp"

namespace evenkeel::engines {

namespace {

using simdjson::dom::element;

constexpr std::size_t longest_name = 128;
constexpr std::size_t most_rates = 64;
constexpr double most_requests = 1e6;

/// A text member as far as it may go into our records: no control characters, of bounded length; else "".
std::string name_in(element object, std::string_view key, std::size_t longest) {
  const std::string_view text = text_member(object, key);
  const bool clean = text.size() <= longest && std::none_of(text.begin(), text.end(), [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
                     });
  return clean ? std::string(text) : std::string();
}

/// Python writes NaN and Infinity into its JSON. As texts they make one bad figure out of a bad page.
std::string with_quoted_numbers(std::string_view body) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < body.size()) out += body[++i];
      if (c == '"') quoted = false;
      continue;
    }
    quoted = c == '"';
    bool replaced = false;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
      if (body.substr(i, word.size()) != word) continue;
      out += fmt::format("\"{}\"", word);
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
}

/// Calls read(root) with the parsed body.
template <class Read>
Result<void> with_json(std::string_view page, std::string_view body, Read read) {
  const Json json(body);
  if (json.root()) return read(*json.root());
  if (body.size() < max_json_bytes) {
    const std::string mended = with_quoted_numbers(body);
    const Json again(mended);
    if (again.root()) return read(*again.root());
  }
  return failure(fmt::format("the answer to {} is no JSON ({} bytes)", page, body.size()));
}

/// A count of requests: 0 where nothing is told, no number where something else is.
double gauge(std::optional<element> of, std::string_view key) {
  const auto told = of ? member(*of, key) : std::nullopt;
  if (!told || told->is_null()) return 0;
  const auto amount = amount_member(*of, key);
  return amount && *amount <= most_requests ? *amount : std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::string> as_it_stands(element object, std::string_view key) {
  const auto told = member(object, key);
  if (!told || told->is_null()) return std::nullopt;
  std::string_view text;
  if (told->get(text) == simdjson::SUCCESS) return std::string(text.substr(0, longest_name));
  return simdjson::minify(*told).substr(0, longest_name);
}

std::optional<std::int64_t> whole(element object, std::string_view key) {
  const auto amount = amount_member(object, key);
  if (!amount || *amount != std::floor(*amount)) return std::nullopt;
  return static_cast<std::int64_t>(*amount);
}

peers::Fingerprint fingerprint_in(element object) {
  const auto known = [&](std::string_view key) {
    std::string text = name_in(object, key, max_model_id_bytes);
    return text == "unknown" ? std::string() : text;
  };
  peers::Fingerprint print;
  print.served_id = known("served_id");
  print.max_model_len = whole(object, "max_model_len");
  if (print.max_model_len == 0) print.max_model_len.reset();
  print.runtime = peers::canonical_runtime(known("runtime"));
  print.quantization = known("quantization");
  print.kv_cache_dtype = known("kv_cache_dtype");
  print.reasoning_parser = known("reasoning_parser");
  print.tool_parser = known("tool_parser");
  print.speculative_config = known("speculative_config");
  return print;
}

std::vector<fleet::RatePoint> rates_in(element object) {
  std::vector<fleet::RatePoint> points;
  simdjson::dom::array list;
  const auto told = member(object, "rates");
  if (!told || told->get(list) != simdjson::SUCCESS) return points;
  for (const element item : list) {
    simdjson::dom::array pair;
    double level = 0, rate = 0;
    const bool good = item.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
                      pair.at(0).get(level) == simdjson::SUCCESS && pair.at(1).get(rate) == simdjson::SUCCESS &&
                      level > 0 && level <= most_requests && rate > 0 && rate < 1e9;
    if (!good || points.size() == most_rates) return {};  // half a curve would be another one
    points.push_back({level, rate});
  }
  return points;
}

std::optional<peers::News> news_in(element object) {
  const auto told = member(object, "news");
  if (!told) return std::nullopt;
  const auto epoch = whole(*told, "epoch");
  const auto sequence = whole(*told, "seq");
  const auto active = whole(*told, "active");
  const auto yours = whole(*told, "yours");
  if (!epoch || !sequence || !active || !yours || *active > static_cast<std::int64_t>(most_requests)) {
    return std::nullopt;
  }
  const peers::News news{static_cast<std::uint64_t>(*epoch), static_cast<std::uint64_t>(*sequence), *active, *yours};
  return news.possible() ? std::optional(news) : std::nullopt;
}

/// A row of `evenkeel.models`.
RouterModel own_row(element row) {
  RouterModel model;
  model.backend = name_in(row, "backend", max_model_id_bytes);
  model.served = name_in(row, "model", max_model_id_bytes);
  bool ready = false;
  if (const auto told = member(row, "ready")) model.status.ready = told->get(ready) == simdjson::SUCCESS && ready;
  if (const auto told = member(row, "fingerprint")) model.status.fingerprint = fingerprint_in(*told);
  model.status.capacity = as_it_stands(row, "slots");
  model.status.measured_at = whole(row, "measured_at_ms");
  model.status.running = gauge(row, "active");
  model.status.news = news_in(row);
  model.status.rates = rates_in(row);
  model.status.rates_at = whole(row, "rates_at_ms");
  return model;
}

/// A row of `backends`.
RouterModel lobes_row(element row) {
  RouterModel model;
  model.backend = name_in(row, "name", max_model_id_bytes);
  model.served = name_in(row, "served_name", max_model_id_bytes);
  model.status.ready = text_member(row, "health") == "ok";
  model.status.fingerprint.served_id = model.served;
  model.status.capacity = as_it_stands(row, "capacity");
  const auto metrics = member(row, "metrics");
  model.status.running = gauge(metrics, "running");
  model.status.waiting = gauge(metrics, "waiting");
  return model;
}

Result<void> read_rows(element of, std::string_view key, RouterModel (*read)(element), RouterPage& page) {
  simdjson::dom::array rows;
  const auto list = member(of, key);
  if (!list || list->get(rows) != simdjson::SUCCESS) {
    return failure(fmt::format("the answer to /status has no list \"{}\"", key));
  }
  if (rows.size() > max_router_models) {
    return failure(fmt::format("/status lists {} models (allowed: {})", rows.size(), max_router_models));
  }
  std::set<std::string> seen;
  for (const element row : rows) {
    RouterModel model = read(row);
    if (!model.served.empty() && seen.insert(model.served).second) page.models.push_back(std::move(model));
  }
  return {};
}

/// Whether its host is busy: by its own word on pressure, or, of a simpler one, by a plain true.
bool is_busy(element root) {
  bool plain = false, shed = false;
  if (const auto told = member(root, "busy")) plain = told->get(plain) == simdjson::SUCCESS && plain;
  const auto pressure = member(root, "pressure");
  if (!pressure) return plain;
  if (const auto told = member(*pressure, "shed")) shed = told->get(shed) == simdjson::SUCCESS && shed;
  return plain || shed || text_member(*pressure, "mode") == "busy";
}

}  // namespace

Result<RouterPage> read_router_status(std::string_view body, bool as_lobes) {
  RouterPage page;
  bool busy = false;
  const auto done = with_json("/status", body, [&](element root) {
    busy = is_busy(root);
    const auto own = member(root, "evenkeel");
    if (as_lobes || !own || !own->is_object()) return read_rows(root, "backends", lobes_row, page);
    page.evenkeel = true;
    page.name = name_in(*own, "name", longest_name);
    page.instance = name_in(*own, "instance", longest_name);
    return read_rows(*own, "models", own_row, page);
  });
  if (!done) return tl::unexpected(done.error());
  for (RouterModel& model : page.models) model.status.busy = busy;
  return page;
}

Result<void> read_router_capabilities(std::string_view body, RouterPage& page) {
  return with_json("/capabilities", body, [&](element root) -> Result<void> {
    simdjson::dom::object roles;
    const auto told = member(root, "roles");
    if (!told || told->get(roles) != simdjson::SUCCESS) {
      return failure("the answer to /capabilities has no object \"roles\"");
    }
    for (RouterModel& model : page.models) {
      for (const auto& [name, role] : roles) {
        const auto given = member(role, "fingerprint");
        peers::Fingerprint print = given ? fingerprint_in(*given) : peers::Fingerprint();
        if (print.served_id.empty()) print.served_id = name_in(role, "model", max_model_id_bytes);
        if (!given) print.max_model_len = whole(role, "context");
        if (print.served_id != model.served && name != model.backend) continue;
        if (print.served_id.empty()) print.served_id = model.served;
        model.status.fingerprint = std::move(print);
        break;
      }
    }
    return {};
  });
}

}  // namespace evenkeel::engines
