#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace evenkeel::config {

/// A value as it was written, before anybody knows what it is for. `FlagWords` come from the command line,
/// where all is text; the others from TOML, where a number is no string.
using FlagWords = std::vector<std::string>;
struct TomlList {
  std::vector<std::string> items;
};
struct TomlOther {
  std::string_view type;  ///< "a table", "a date": what no setting takes
};
using Raw = std::variant<FlagWords, std::string, std::int64_t, double, bool, TomlList, TomlOther>;

template <class Owner>
struct Text {
  using Value = std::string;
  std::function<std::string&(Owner&)> at;
  std::vector<std::string_view> choices;  ///< empty = any text
  /// For values that are more than a choice, in place of the comparison with `choices`: whether the text is fine. Its
  /// error stands by itself: it names the value and what is allowed.
  std::function<Result<void>(std::string_view)> check = {};
  std::string_view more = {};  ///< what may follow a choice, for the reference
};
template <class Owner>
struct List {
  using Value = std::vector<std::string>;
  std::function<Value&(Owner&)> at;
};
template <class Owner>
struct Switch {
  using Value = bool;
  std::function<bool&(Owner&)> at;
};
template <class Owner, class T>
struct Number {
  using Value = T;
  std::function<T&(Owner&)> at;
  T least;
  T most;
};

/// One thing that can be told: where it stands in the file, its flag, its place in memory, what is allowed.
template <class Owner>
struct Setting {
  std::string_view table;  ///< "" = top level
  std::string_view key;
  std::string_view flag;  ///< with dashes; "" = file only
  std::variant<Text<Owner>, List<Owner>, Switch<Owner>, Number<Owner, int>, Number<Owner, std::int64_t>,
               Number<Owner, std::uint64_t>, Number<Owner, double>, Number<Owner, Duration>, Number<Owner, Bytes>>
      value;
  std::string_view doc;  ///< one line, no full stop

  [[nodiscard]] std::string path() const {
    return table.empty() ? std::string(key) : std::string(table) + "." + std::string(key);
  }
};

/// Written text to a value; nothing if it is of another type. Ranges are not looked at.
template <class T>
[[nodiscard]] std::optional<T> read_as(const Raw& raw);
/// As TOML: quoted where it must be. Reads back equal.
template <class T>
[[nodiscard]] std::string written(const T& value);

[[nodiscard]] std::string found(const Raw& raw);
[[nodiscard]] std::string choice_text(std::span<const std::string_view> choices);

/// What is allowed, in words, for errors and the reference.
template <class Owner>
[[nodiscard]] std::string allowed(const Setting<Owner>& setting);
/// Puts the value in its place. The error says what was found and what is allowed, not where.
template <class Owner>
[[nodiscard]] Result<void> store(const Setting<Owner>& setting, Owner& owner, const Raw& raw);
/// The value in force, as TOML.
template <class Owner>
[[nodiscard]] std::string print(const Setting<Owner>& setting, Owner& owner);

}  // namespace evenkeel::config
