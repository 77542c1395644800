// Calibrations out of files: what a person may have edited, another version written, or a full disk cut.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "calibrate/calibration.hpp"

namespace evenkeel::calibrate {

namespace json = boost::json;

namespace {

constexpr std::size_t most_bytes = 1U << 20U;
constexpr std::size_t most_levels = 256;
constexpr std::size_t longest_text = 1024;

std::string shown(const json::value* value) {
  if (value == nullptr) return "missing";
  std::string text = json::serialize(*value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// An object and where it stands. The first fault is kept; whoever has asked for everything looks at it.
class Fields {
 public:
  Fields(const json::object& object, std::string where, std::optional<Error>& fault)
      : object_(object), where_(std::move(where)), fault_(fault) {}

  void only(std::span<const std::string_view> known) {
    for (const auto& member : object_) {
      const std::string_view key(member.key().data(), member.key().size());
      if (std::ranges::find(known, key) != known.end()) continue;
      const auto near = nearest_name(key, known);
      note(fmt::format("{}{} is no key here{}", where_, key,
                       near.empty() ? "" : fmt::format(", did you mean {}?", near)));
    }
  }
  const json::value* find(std::string_view key) const { return object_.if_contains({key.data(), key.size()}); }
  void wrong(std::string_view key, std::string_view allowed) {
    note(fmt::format("{}{} is {} (allowed: {})", where_, key, shown(find(key)), allowed));
  }
  std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most) {
    const json::value* value = find(key);
    if (value != nullptr && value->is_int64() && value->get_int64() >= least && value->get_int64() <= most) {
      return value->get_int64();
    }
    wrong(key, fmt::format("a whole number from {} to {}", least, most));
    return least;
  }
  double number(std::string_view key, bool positive) {
    const json::value* value = find(key);
    boost::system::error_code code;
    const double number = value == nullptr || !value->is_number() ? -1 : value->to_number<double>(code);
    if (!code && std::isfinite(number) && (positive ? number > 0 : number >= 0) && number <= 1e12) return number;
    wrong(key, positive ? "a number over 0" : "a number from 0");
    return 0;
  }
  std::string text(std::string_view key, bool may_be_null = false) {
    const json::value* value = find(key);
    if (value != nullptr && value->is_null() && may_be_null) return "";
    if (value != nullptr && value->is_string() && !value->get_string().empty() &&
        value->get_string().size() <= longest_text) {
      return std::string(value->get_string());
    }
    wrong(key, fmt::format("a text of 1 to {} bytes", longest_text));
    return "";
  }
  const json::array* list(std::string_view key, std::size_t most) {
    const json::value* value = find(key);
    if (value != nullptr && value->is_array() && value->get_array().size() <= most) return &value->get_array();
    wrong(key, fmt::format("a list of at most {}", most));
    return nullptr;
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  void note(std::string words) {
    if (!fault_) fault_ = Error{std::move(words)};
  }
  const json::object& object_;
  std::string where_;
  std::optional<Error>& fault_;
};

/// 2026-11-30T20:35:26.000Z
std::optional<std::int64_t> read_utc_millis(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, millis = 0, used = 0;
  const int found = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &hour, &minute,
                                &second, &millis, &used);
  if (found != 7 || static_cast<std::size_t>(used) != text.size()) return std::nullopt;
  using namespace std::chrono;
  const year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const auto at = sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + milliseconds(millis);
  const auto since = duration_cast<milliseconds>(at.time_since_epoch()).count();
  return format_utc_millis(since) == text ? std::optional<std::int64_t>(since) : std::nullopt;
}

void read_fingerprint(Fields& top, Measured& into, std::optional<Error>& fault) {
  const json::value* value = top.find("fingerprint");
  if (value == nullptr || !value->is_object()) return top.wrong("fingerprint", "an object");
  Fields fields(value->get_object(), "fingerprint.", fault);
  constexpr std::array<std::string_view, 4> keys = {"served_id", "max_model_len", "runtime", "version"};
  fields.only(keys);
  into.served_id = fields.text("served_id");
  const json::value* length = fields.find("max_model_len");
  if (length == nullptr || !length->is_null()) into.max_model_len = fields.whole("max_model_len", 1, 1LL << 40U);
  into.runtime = fields.text("runtime");
  into.version = fields.text("version", true);
}

void read_levels(Fields& top, std::vector<LevelSample>& into, std::optional<Error>& fault) {
  const json::array* levels = top.list("levels", most_levels);
  if (levels == nullptr) return;
  for (const json::value& each : *levels) {
    const std::string where = fmt::format("levels[{}]", into.size());
    if (!each.is_object()) {
      if (!fault) fault = Error{fmt::format("{} is {} (allowed: an object)", where, shown(&each))};
      return;
    }
    Fields fields(each.get_object(), where + ".", fault);
    constexpr std::array<std::string_view, 6> keys = {"level",    "tokens_per_s", "ttft_s",
                                                      "requests", "tokens",       "window_s"};
    fields.only(keys);
    LevelSample sample;
    sample.level = fields.whole("level", into.empty() ? 1 : into.back().level + 1, highest_level);
    sample.tokens_per_s = fields.number("tokens_per_s", true);
    sample.ttft_s = fields.number("ttft_s", false);
    sample.requests = fields.whole("requests", 1, 1'000'000'000);
    sample.tokens = fields.number("tokens", true);
    sample.window_s = fields.number("window_s", true);
    into.push_back(sample);
    if (fault) return;
  }
}

void read_options(Fields& top, Options& into, std::optional<Error>& fault) {
  into.ttft_bound_s = top.number("ttft_bound_s", true);
  into.min_relative_gain = top.number("min_relative_gain", true);
  into.max_tokens = top.whole("max_tokens", 1, 65536);
  into.timeout_s = top.number("timeout_s", true);
  into.schedule.clear();
  const json::array* schedule = top.list("schedule", most_levels);
  if (schedule == nullptr) return;
  for (const json::value& level : *schedule) into.schedule.push_back(level.is_int64() ? level.get_int64() : 0);
  if (const auto good = validate(into); !good && !fault) fault = good.error();
}

void read_knee(Fields& top, Calibration& into) {
  const json::value* usable = top.find("usable");
  if (usable == nullptr || *usable != json::value(true)) top.wrong("usable", "true: no other result can be used");
  into.knee.level = top.whole("slots", 1, highest_level);
  const std::string reason = top.text("reason");
  const auto is = [&](KneeReason each) { return reason == to_string(each); };
  if (!is(KneeReason::plateau) && !is(KneeReason::ttft_bound)) top.wrong("reason", "plateau or ttft_bound");
  into.knee.reason = is(KneeReason::plateau) ? KneeReason::plateau : KneeReason::ttft_bound;
  if (std::ranges::find(into.samples, into.knee.level, &LevelSample::level) == into.samples.end()) {
    top.wrong("slots", "one of the levels that were measured");
  }
}

Result<json::value> parse(std::string_view text) {
  json::stream_parser parser;
  boost::system::error_code code;
  const std::size_t read = parser.write_some(text.data(), text.size(), code);
  std::size_t place = read;
  if (!code) {
    place = text.find_first_not_of(" \t\r\n", read);
    if (place == std::string_view::npos) parser.finish(code);
    if (!code && place == std::string_view::npos) return parser.release();
    if (!code) code = json::error::extra_data;
  }
  const std::string_view before = text.substr(0, std::min(place, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return failure(fmt::format("line {}, column {}: {}", line, column, code.message()));
}

}  // namespace

Result<Calibration> read_calibration(std::string_view text) {
  if (text.size() > most_bytes) return failure(fmt::format("it has {} bytes (allowed: {})", text.size(), most_bytes));
  const auto root = parse(text);
  if (!root) return tl::unexpected(root.error());
  if (!root->is_object()) return failure(fmt::format("it is {} (allowed: an object)", shown(&*root)));
  std::optional<Error> fault;
  Fields top(root->get_object(), "", fault);
  constexpr std::array<std::string_view, 14> keys = {
      "version",           "url",        "fingerprint", "measured_at", "usable", "slots", "reason", "ttft_bound_s",
      "min_relative_gain", "max_tokens", "timeout_s",   "schedule",    "levels", "notes"};
  (void)top.whole("version", 1, 1);
  top.only(keys);
  Calibration calibration;
  calibration.url = top.text("url");
  read_fingerprint(top, calibration.measured, fault);
  if (const auto at = read_utc_millis(top.text("measured_at"))) {
    calibration.measured_at_ms = *at;
  } else {
    top.wrong("measured_at", "a time such as 2026-11-30T20:35:26.000Z");
  }
  read_levels(top, calibration.samples, fault);
  read_knee(top, calibration);
  read_options(top, calibration.options, fault);
  if (const json::array* notes = top.list("notes", most_levels)) {
    for (const json::value& note : *notes) {
      if (!note.is_string()) top.wrong("notes", "a list of texts");
      calibration.notes.emplace_back(note.is_string() ? std::string(note.get_string()) : "");
    }
  }
  if (fault) return tl::unexpected(*fault);
  return calibration;
}

}  // namespace evenkeel::calibrate
