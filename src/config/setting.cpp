#include "config/setting.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "config/settings.hpp"
#include "config/values.hpp"

namespace evenkeel::config {
namespace {

constexpr std::size_t max_text_bytes = 4096;
constexpr std::size_t max_list_items = 64;

const std::string* only_word(const Raw& raw) {
  const auto* words = std::get_if<FlagWords>(&raw);
  return words != nullptr && words->size() == 1 ? &words->front() : nullptr;
}

bool is_clean(std::string_view text) {
  return text.size() <= max_text_bytes && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

template <class T>
std::optional<T> read_whole(const Raw& raw) {
  if (const auto* word = only_word(raw)) {
    const bool negative = word->starts_with('-');
    const auto size = parse_unsigned(std::string_view(*word).substr(negative ? 1 : 0));
    if (!size || *size > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return std::nullopt;
    if (!negative) return static_cast<T>(*size);
    if (std::is_unsigned_v<T> && *size > 0) return std::nullopt;
    return static_cast<T>(T{0} - static_cast<T>(*size));
  }
  const auto* value = std::get_if<std::int64_t>(&raw);
  if (value == nullptr || !std::in_range<T>(*value)) return std::nullopt;
  return static_cast<T>(*value);
}

/// Durations and sizes: a string with its unit, or a bare number.
template <class T>
std::optional<T> read_with_unit(const Raw& raw, std::optional<T> (*parse)(std::string_view)) {
  if (const auto* word = only_word(raw)) return parse(*word);
  if (const auto* text = std::get_if<std::string>(&raw)) return parse(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&raw)) return parse(fmt::format("{}", *whole));
  if (const auto* real = std::get_if<double>(&raw)) return parse(fmt::format("{}", *real));
  return std::nullopt;
}

template <class T>
std::string kind_words() {
  if constexpr (std::is_same_v<T, Duration>) return "a duration like \"30s\", \"250ms\" or seconds as a number";
  if constexpr (std::is_same_v<T, Bytes>) return "a size like \"64MiB\" or bytes as a number";
  if constexpr (std::is_same_v<T, double>) return "a number";
  return "a whole number";
}

template <class T>
std::string bound(const T& value) {
  if constexpr (std::is_same_v<T, Duration>) return format_duration(value);
  if constexpr (std::is_same_v<T, Bytes>) return format_bytes(value);
  if constexpr (!std::is_same_v<T, Duration> && !std::is_same_v<T, Bytes>) return fmt::format("{}", value);
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);  // TOML's basic strings take JSON's escapes
  return out;
}

template <class Owner>
bool is_allowed(const Text<Owner>& text, const std::string& value) {
  if (!is_clean(value)) return false;
  return text.check || text.choices.empty() ||
         std::find(text.choices.begin(), text.choices.end(), value) != text.choices.end();
}
template <class Owner>
bool is_allowed(const List<Owner>& /*list*/, const std::vector<std::string>& value) {
  return value.size() <= max_list_items && std::all_of(value.begin(), value.end(), is_clean);
}
template <class Owner>
bool is_allowed(const Switch<Owner>& /*flag*/, bool /*value*/) {
  return true;
}
template <class Owner, class T>
bool is_allowed(const Number<Owner, T>& number, const T& value) {
  return value >= number.least && value <= number.most;
}

template <class Owner>
std::string allowed_by(const Text<Owner>& text) {
  return text.choices.empty() ? "a text" : choice_text(text.choices) + std::string(text.more);
}
template <class Owner>
std::string allowed_by(const List<Owner>& /*list*/) {
  return fmt::format("a list of at most {} texts", max_list_items);
}
template <class Owner>
std::string allowed_by(const Switch<Owner>& /*flag*/) {
  return "true or false";
}
template <class Owner, class T>
std::string allowed_by(const Number<Owner, T>& number) {
  return fmt::format("{}, {} to {}", kind_words<T>(), bound(number.least), bound(number.most));
}

template <class Owner>
std::string hint(const Text<Owner>& text, const Raw& raw) {
  const std::string* word = only_word(raw);
  if (word == nullptr) word = std::get_if<std::string>(&raw);
  const std::string_view near = word == nullptr ? "" : nearest_name(*word, text.choices);
  return near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near);
}
template <class Any>
std::string hint(const Any& /*value*/, const Raw& /*raw*/) {
  return "";
}

}  // namespace

template <>
std::optional<std::string> read_as(const Raw& raw) {
  if (const auto* word = only_word(raw)) return *word;
  const auto* text = std::get_if<std::string>(&raw);
  return text == nullptr ? std::nullopt : std::optional(*text);
}
template <>
std::optional<std::vector<std::string>> read_as(const Raw& raw) {
  const auto* words = std::get_if<FlagWords>(&raw);
  const auto* list = std::get_if<TomlList>(&raw);
  if (words == nullptr && list == nullptr) return std::nullopt;
  std::vector<std::string> items = words != nullptr ? *words : list->items;
  if (words != nullptr) std::erase(items, "");  // --flag "" is the empty list
  return items;
}
template <>
std::optional<bool> read_as(const Raw& raw) {
  if (const auto* word = only_word(raw)) {
    if (*word == "true") return true;
    if (*word == "false") return false;
    return std::nullopt;
  }
  const auto* value = std::get_if<bool>(&raw);
  return value == nullptr ? std::nullopt : std::optional(*value);
}
template <>
std::optional<int> read_as(const Raw& raw) {
  return read_whole<int>(raw);
}
template <>
std::optional<std::int64_t> read_as(const Raw& raw) {
  return read_whole<std::int64_t>(raw);
}
template <>
std::optional<std::uint64_t> read_as(const Raw& raw) {
  return read_whole<std::uint64_t>(raw);
}
template <>
std::optional<double> read_as(const Raw& raw) {
  if (const auto* word = only_word(raw)) return parse_double(*word);
  if (const auto* whole = std::get_if<std::int64_t>(&raw)) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(&raw);
  return value == nullptr ? std::nullopt : std::optional(*value);
}
template <>
std::optional<Duration> read_as(const Raw& raw) {
  return read_with_unit<Duration>(raw, parse_duration);
}
template <>
std::optional<Bytes> read_as(const Raw& raw) {
  return read_with_unit<Bytes>(raw, parse_bytes);
}

template <class T>
std::string written(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) return quoted(value);
  if constexpr (std::is_same_v<T, Duration>) return quoted(format_duration(value));
  if constexpr (std::is_same_v<T, Bytes>) return quoted(format_bytes(value));
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    std::vector<std::string> items;
    for (const std::string& item : value) items.push_back(quoted(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", value);
}

std::string choice_text(std::span<const std::string_view> choices) {
  return fmt::format("{}", fmt::join(choices, ", "));
}

std::string found(const Raw& raw) {
  if (const auto* words = std::get_if<FlagWords>(&raw)) return quoted(fmt::format("{}", fmt::join(*words, " ")));
  if (const auto* text = std::get_if<std::string>(&raw)) return quoted(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&raw)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&raw)) return fmt::format("{}", *real);
  if (const auto* flag = std::get_if<bool>(&raw)) return *flag ? "true" : "false";
  if (const auto* list = std::get_if<TomlList>(&raw)) return written(list->items);
  return std::string(std::get<TomlOther>(raw).type);
}

template <class Owner>
std::string allowed(const Setting<Owner>& setting) {
  return std::visit([](const auto& value) { return allowed_by(value); }, setting.value);
}

template <class Owner>
Result<void> store(const Setting<Owner>& setting, Owner& owner, const Raw& raw) {
  return std::visit(
      [&](const auto& value) -> Result<void> {
        auto read = read_as<typename std::decay_t<decltype(value)>::Value>(raw);
        if (!read || !is_allowed(value, *read)) {
          return failure(fmt::format("{} cannot be {}{} (allowed: {})", setting.path(), found(raw), hint(value, raw),
                                     allowed_by(value)));
        }
        if constexpr (requires { value.check; }) {
          if (value.check) {
            if (auto fine = value.check(*read); !fine) return fine;
          }
        }
        value.at(owner) = std::move(*read);
        return {};
      },
      setting.value);
}

template <class Owner>
std::string print(const Setting<Owner>& setting, Owner& owner) {
  return std::visit([&](const auto& value) { return written(value.at(owner)); }, setting.value);
}

template std::string allowed(const Setting<ServeSettings>&);
template Result<void> store(const Setting<ServeSettings>&, ServeSettings&, const Raw&);
template std::string print(const Setting<ServeSettings>&, ServeSettings&);
template std::string allowed(const Setting<WorkerSetting>&);
template Result<void> store(const Setting<WorkerSetting>&, WorkerSetting&, const Raw&);
template std::string print(const Setting<WorkerSetting>&, WorkerSetting&);
template std::string allowed(const Setting<PeerSetting>&);
template Result<void> store(const Setting<PeerSetting>&, PeerSetting&, const Raw&);
template std::string print(const Setting<PeerSetting>&, PeerSetting&);
template std::string allowed(const Setting<ModelSetting>&);
template Result<void> store(const Setting<ModelSetting>&, ModelSetting&, const Raw&);
template std::string print(const Setting<ModelSetting>&, ModelSetting&);
template std::string allowed(const Setting<Timeouts>&);
template Result<void> store(const Setting<Timeouts>&, Timeouts&, const Raw&);
template std::string print(const Setting<Timeouts>&, Timeouts&);

}  // namespace evenkeel::config
