// Azure's public LLM traces of 2023 and 2024: TIMESTAMP,ContextTokens,GeneratedTokens.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/text.hpp"
#include "workload/collector.hpp"
#include "workload/csv_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

std::optional<unsigned> digits(std::string_view text, std::size_t at, std::size_t count, unsigned most) {
  const auto value = text.size() < at + count ? std::nullopt : parse_unsigned(text.substr(at, count));
  if (!value || *value > most) return std::nullopt;
  return static_cast<unsigned>(*value);
}

/// The fraction after the dot, 1 to 9 digits, as nanoseconds; takes it off the front of `rest`.
std::optional<Duration> take_fraction(std::string_view& rest) {
  if (rest.empty() || rest.front() != '.') return Duration{};
  rest.remove_prefix(1);
  std::int64_t nanos = 0;
  std::int64_t unit = 100'000'000;
  std::size_t taken = 0;
  for (; taken < rest.size() && rest[taken] >= '0' && rest[taken] <= '9'; ++taken, unit /= 10) {
    nanos += unit * (rest[taken] - '0');
  }
  if (taken == 0 || taken > 9) return std::nullopt;
  rest.remove_prefix(taken);
  return Duration(nanos);
}

/// Nothing, Z, +HH:MM or -HH:MM: how far the clock is ahead of UTC.
std::optional<Duration> zone(std::string_view text) {
  if (text.empty() || text == "Z") return Duration{};
  const auto hours = digits(text, 1, 2, 14);
  const auto minutes = digits(text, 4, 2, 59);
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-') || !hours || !minutes) {
    return std::nullopt;
  }
  const Duration ahead = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return text[0] == '-' ? -ahead : ahead;
}

/// `2023-11-16 18:15:46.6805900` with up to nine decimals, with or without a zone; nanoseconds of Unix time.
std::optional<Duration> timestamp(std::string_view text) {
  namespace chrono = std::chrono;
  const auto year = digits(text, 0, 4, 2200);
  const auto month = digits(text, 5, 2, 12);
  const auto day = digits(text, 8, 2, 31);
  const auto hour = digits(text, 11, 2, 23);
  const auto minute = digits(text, 14, 2, 59);
  const auto second = digits(text, 17, 2, 60);
  if (!year || !month || !day || !hour || !minute || !second || *year < 1970) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const chrono::year_month_day date(chrono::year(static_cast<int>(*year)), chrono::month(*month), chrono::day(*day));
  if (!date.ok()) return std::nullopt;
  auto rest = text.substr(19);
  const auto fraction = take_fraction(rest);
  const auto ahead = fraction ? zone(rest) : std::nullopt;
  if (!ahead) return std::nullopt;
  return chrono::sys_days(date).time_since_epoch() + chrono::hours(*hour) + chrono::minutes(*minute) +
         chrono::seconds(*second) + *fraction - *ahead;
}

}  // namespace

Result<Trace> read_azure(const TraceSpec& spec) {
  constexpr std::array<std::string_view, 3> columns = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  auto csv = CsvReader::open(spec.path, columns);
  if (!csv) return tl::unexpected(csv.error());
  Collector collector(spec.slice);
  std::optional<Duration> first;
  Duration latest{};
  while (csv->next()) {
    const auto at = timestamp(csv->text(0));
    if (!at) csv->reject_field(0, "YYYY-MM-DD HH:MM:SS, up to 9 decimals, no zone or +HH:MM");
    TraceRequest request;
    request.prompt_tokens = Tokens(csv->whole(1, 0, most_tokens));
    request.output_tokens = Tokens(csv->whole(2, 0, most_tokens));
    if (csv->fault()) break;
    if (!first) first = at;
    request.arrival = *at - *first;
    if (request.arrival < Duration{} || request.arrival < latest - Collector::order_slack) {
      csv->reject_field(0, "not before the first row, and at most 60 s before an earlier row");
      break;
    }
    latest = std::max(latest, request.arrival);
    if (collector.past_end(request.arrival, Collector::order_slack)) break;
    collector.add(request);
  }
  if (csv->fault()) return tl::unexpected(*csv->fault());
  return collector.finish();
}

}  // namespace evenkeel::workload
