#include "workload/servegen_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.hpp"
#include "workload/csv_reader.hpp"
#include "workload/json_fields.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

std::optional<TokenHistogram> TokenHistogram::parse(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  text = trim(text.substr(1, text.size() - 2));
  TokenHistogram histogram;
  if (text.empty()) return histogram;
  double total = 0;
  for (const auto entry : split(text, ',')) {
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto tokens = parse_unsigned(trim(entry.substr(0, colon)));
    const auto share = parse_double(trim(entry.substr(colon + 1)));
    if (!tokens || *tokens > static_cast<std::uint64_t>(most_tokens) || !share || *share < 0) return std::nullopt;
    if (*share == 0) continue;
    total += *share;
    histogram.values_.push_back(static_cast<std::int64_t>(*tokens));
    histogram.cumulative_.push_back(total);
  }
  return histogram;
}

std::int64_t TokenHistogram::draw(Random& random) const {
  const double at = random.unit() * cumulative_.back();
  const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at) - cumulative_.begin();
  return values_[static_cast<std::size_t>(place)];
}

double ClientWindow::draw_gap(double mean, Random& random) const {
  switch (pattern) {
    case Pattern::gamma: return random.gamma(shape, mean / shape);
    case Pattern::weibull: return mean / std::tgamma(1 + 1 / shape) * std::pow(random.exponential(1), 1 / shape);
    case Pattern::poisson: break;
  }
  return random.exponential(mean);
}

double ClientWindow::draw_first_gap(double mean, Random& random) const {
  // A uniform part of a gap drawn in proportion to its length. Weighted by length, gamma(k) is gamma(k + 1),
  // and the k-th power of a Weibull variable, else exponential, is gamma(1 + 1/k).
  switch (pattern) {
    case Pattern::gamma: return random.unit() * random.gamma(shape + 1, mean / shape);
    case Pattern::weibull:
      return random.unit() * mean / std::tgamma(1 + 1 / shape) * std::pow(random.gamma(1 + 1 / shape, 1), 1 / shape);
    case Pattern::poisson: break;
  }
  return random.exponential(mean);
}

const LengthTables* ServegenTables::lengths_at(std::uint32_t client, double at_s) const {
  const auto found = lengths.find(client);
  if (found == lengths.end() || found->second.empty()) return nullptr;
  const LengthTables* best = &found->second.front();
  for (const auto& table : found->second) {
    if (table.start_s <= at_s) best = &table;
  }
  return best;
}

namespace {

using Pattern = ClientWindow::Pattern;

std::optional<Pattern> pattern_named(std::string_view word) {
  if (word.empty()) return Pattern::poisson;
  if (word == "Gamma") return Pattern::gamma;
  if (word == "Weibull") return Pattern::weibull;
  return std::nullopt;
}

/// Returns the start of the first window, from which all times are counted.
Result<double> read_clients(const std::string& path, ServegenTables& tables) {
  constexpr std::array<std::string_view, 5> columns = {"client", "window_start", "rate", "pattern", "arg1"};
  auto csv = CsvReader::open(path, columns);
  if (!csv) return tl::unexpected(csv.error());
  double first_s = 0;
  double step_s = 0;
  for (bool first = true; csv->next(); first = false) {
    ClientWindow window;
    window.client = static_cast<std::uint32_t>(csv->whole(0, 0, 1'000'000));
    window.start_s = csv->number(1, 0, longest_trace_s);
    window.rate = csv->number(2, 0, 1e6);
    const auto pattern = pattern_named(csv->text(3));
    if (!pattern) csv->reject_field(3, "Gamma, Weibull or empty");
    // Below 0.01 a Weibull law's scale leaves what a double holds.
    if (window.rate > 0 && pattern && *pattern != Pattern::poisson) window.shape = csv->number(4, 0.01, 1000);
    if (csv->fault()) break;
    window.pattern = *pattern;
    if (first) first_s = window.start_s;
    if (window.start_s < first_s) csv->reject_field(1, "not before the first row's");
    if (step_s == 0 && window.start_s > first_s) step_s = window.start_s - first_s;
    window.start_s -= first_s;
    if (window.rate > 0) tables.windows.push_back(window);
  }
  if (csv->fault()) return tl::unexpected(*csv->fault());
  if (tables.windows.empty()) return failure(path + ": no window has a rate over 0");
  if (step_s > 0) tables.window_s = step_s;
  std::stable_sort(tables.windows.begin(), tables.windows.end(), [](const auto& a, const auto& b) {
    return a.start_s != b.start_s ? a.start_s < b.start_s : a.client < b.client;
  });
  return first_s;
}

TokenHistogram read_histogram(const JsonFields& fields, std::string_view key) {
  const auto histogram = TokenHistogram::parse(fields.text(key));
  if (!histogram) fields.reject(key, "{tokens: probability, ...}");
  return histogram.value_or(TokenHistogram());
}

std::optional<Error> read_lengths(const std::string& path, double first_s, ServegenTables& tables) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  simdjson::dom::parser parser;
  while (lines->next()) {
    const auto fields = parse_object(*lines, parser);
    if (lines->fault()) break;
    const auto client = static_cast<std::uint32_t>(fields.whole("client", 0, 1'000'000));
    LengthTables lengths;
    lengths.start_s = fields.number("window_start", 0, longest_trace_s) - first_s;
    lengths.prompt = read_histogram(fields, "input_tokens");
    lengths.output = read_histogram(fields, "output_tokens");
    if (lines->fault()) break;
    if (!lengths.prompt.empty() && !lengths.output.empty()) tables.lengths[client].push_back(std::move(lengths));
  }
  for (auto& [client, list] : tables.lengths) {
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  }
  return lines->fault();
}

}  // namespace

Result<ServegenTables> read_servegen_folder(const std::string& folder) {
  ServegenTables tables;
  const auto first_s = read_clients(folder + "/clients.csv", tables);
  if (!first_s) return tl::unexpected(first_s.error());
  std::string lengths = folder + "/lengths.jsonl";
  std::error_code code;
  if (!std::filesystem::exists(lengths, code)) lengths += ".gz";
  if (auto fault = read_lengths(lengths, *first_s, tables)) return tl::unexpected(std::move(*fault));
  return tables;
}

}  // namespace evenkeel::workload
