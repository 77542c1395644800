#include "config/toml_file.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/text.hpp"
#include "config/table.hpp"

namespace evenkeel::config {
namespace {

constexpr std::size_t max_entries = 4096;  // of each list of tables

std::string_view type_words(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list that holds more than texts";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
    default: return "a value of another type";
  }
}

Raw raw_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* array = node.as_array()) {
    TomlList list;
    for (const auto& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr) return TomlOther{type_words(node)};
      list.items.push_back(text->get());
    }
    return list;
  }
  return TomlOther{type_words(node)};
}

/// Reads one document; holds what all steps need to say where something stands.
class Reader {
 public:
  Reader(const std::string& source, ServeSettings& settings) : source_(source), settings_(settings) {}

  Result<void> read(const toml::table& root, const std::function<Result<void>()>& between) {
    std::vector<std::string_view> tables = {"workers", "peers", "models"};
    for (const auto& setting : serve_table()) {
      if (!setting.table.empty()) tables.push_back(setting.table);
    }
    for (const auto& [key, node] : root) {
      const bool is_table = std::find(tables.begin(), tables.end(), key.str()) != tables.end();
      if (key == "workers" || key == "peers" || key == "models") continue;
      const Result<void> done =
          is_table ? read_table(key, node) : read_entry(serve_table(), "", key, node, settings_, tables);
      if (!done) return done;
    }
    if (const toml::node* workers = root.get("workers")) {
      if (auto done = read_list(*workers, "workers", [&](const toml::table& entry) { return read_worker(entry); });
          !done)
        return done;
    }
    if (const toml::node* peers = root.get("peers")) {
      if (auto done = read_list(*peers, "peers", [&](const toml::table& entry) { return read_peer(entry); }); !done)
        return done;
    }
    if (auto done = between(); !done) return done;
    if (const toml::node* models = root.get("models")) {
      return read_list(*models, "models", [&](const toml::table& entry) { return read_model(entry); });
    }
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> fail(const toml::source_region& where, std::string_view what) const {
    return failure(fmt::format("{}:{}:{}: {}", source_, where.begin.line, where.begin.column, what));
  }

 private:
  Result<void> read_table(const toml::key& name, const toml::node& node) {
    const auto* table = node.as_table();
    if (table == nullptr) return fail(node.source(), fmt::format("{0} must be a table: [{0}]", name.str()));
    for (const auto& [key, value] : *table) {
      if (auto done = read_entry(serve_table(), name.str(), key, value, settings_, {}); !done) return done;
    }
    return {};
  }

  /// One key of `table` into its place. `more` are names that may stand there besides the settings; of two
  /// that are equally near to an unknown key, a setting is proposed first.
  template <class Owner>
  Result<void> read_entry(std::span<const Setting<Owner>> settings, std::string_view table, const toml::key& key,
                          const toml::node& node, Owner& owner, const std::vector<std::string_view>& more) {
    std::vector<std::string_view> known;
    for (const auto& setting : settings) {
      if (setting.table != table) continue;
      known.push_back(setting.key);
      if (setting.key != key.str()) continue;
      if (auto done = store(setting, owner, raw_of(node)); !done) return fail(node.source(), done.error().message);
      return {};
    }
    known.insert(known.end(), more.begin(), more.end());
    return unknown(key, table, known);
  }

  [[nodiscard]] Result<void> unknown(const toml::key& key, std::string_view table,
                                     std::span<const std::string_view> known) const {
    const std::string_view near = nearest_name(key.str(), known);
    std::string what =
        fmt::format("\"{}\" is not known{}", key.str(), table.empty() ? "" : fmt::format(" in {}", table));
    if (!near.empty()) return fail(key.source(), fmt::format("{}, did you mean \"{}\"?", what, near));
    for (const auto& setting : serve_table()) {  // right name, wrong table
      if (setting.key == key.str() && setting.table != table) {
        return fail(key.source(), fmt::format("{}, did you mean \"{}\"?", what, setting.path()));
      }
    }
    std::string all;
    for (const auto name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    return fail(key.source(), fmt::format("{} (allowed: {})", what, all));
  }

  template <class Read>
  Result<void> read_list(const toml::node& node, std::string_view name, Read read) {
    const auto* array = node.as_array();
    if (array == nullptr) return fail(node.source(), fmt::format("{0} must be a list of tables: [[{0}]]", name));
    if (array->size() > max_entries) {
      return fail(node.source(), fmt::format("{} has {} entries (allowed: {})", name, array->size(), max_entries));
    }
    for (const toml::node& item : *array) {
      const auto* entry = item.as_table();
      if (entry == nullptr) return fail(item.source(), fmt::format("{0} must be a list of tables: [[{0}]]", name));
      if (auto done = read(*entry); !done) return done;
    }
    return {};
  }

  Result<void> read_worker(const toml::table& entry) {
    WorkerSetting worker;
    for (const auto& [key, node] : entry) {
      if (auto done = read_entry(worker_table(), "workers", key, node, worker, {}); !done) return done;
    }
    if (worker.url.empty()) return fail(entry.source(), "a worker needs a url");
    settings_.workers.push_back(std::move(worker));
    return {};
  }

  Result<void> read_peer(const toml::table& entry) {
    PeerSetting peer;
    for (const auto& [key, node] : entry) {
      if (auto done = read_entry(peer_table(), "peers", key, node, peer, {}); !done) return done;
    }
    if (peer.url.empty()) return fail(entry.source(), "a peer needs a url");
    settings_.peers.push_back(std::move(peer));
    return {};
  }

  Result<void> read_model(const toml::table& entry) {
    ModelSetting model;
    model.timeouts = settings_.timeouts;
    for (const auto& [key, node] : entry) {
      if (key == "timeouts") {
        if (auto done = read_model_timeouts(node, model.timeouts); !done) return done;
        continue;
      }
      if (auto done = read_entry(model_table(), "models", key, node, model, {"timeouts"}); !done) return done;
    }
    if (model.name.empty()) return fail(entry.source(), "a model needs a name");
    settings_.models.push_back(std::move(model));
    return {};
  }

  Result<void> read_model_timeouts(const toml::node& node, Timeouts& timeouts) {
    const auto* table = node.as_table();
    if (table == nullptr)
      return fail(node.source(), "timeouts of a model must be a table: timeouts = { silence = \"60s\" }");
    for (const auto& [key, value] : *table) {
      if (auto done = read_entry(timeout_table(), "timeouts", key, value, timeouts, {}); !done) return done;
    }
    return {};
  }

  const std::string& source_;
  ServeSettings& settings_;
};

}  // namespace

Result<void> apply_toml(std::string_view text, const std::string& source, ServeSettings& settings,
                        const std::function<Result<void>()>& between) {
  Reader reader(source, settings);
  try {
    return reader.read(toml::parse(text, source), between);
  } catch (const toml::parse_error& error) {
    return reader.fail(error.source(), error.description());
  }
}

}  // namespace evenkeel::config
