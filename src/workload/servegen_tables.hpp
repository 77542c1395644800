#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"

namespace evenkeel::workload {

/// A discrete law of token counts, `{tokens: probability, ...}` in the tables.
class TokenHistogram {
 public:
  /// Nothing if the text is not of that form. Probabilities need not add up to 1.
  [[nodiscard]] static std::optional<TokenHistogram> parse(std::string_view text);
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::int64_t draw(Random& random) const;

 private:
  std::vector<std::int64_t> values_;
  std::vector<double> cumulative_;
};

/// What one client did in one window: how often, and the shape of the gaps.
struct ClientWindow {
  enum class Pattern : std::uint8_t { poisson, gamma, weibull };
  std::uint32_t client = 0;
  double start_s = 0;  ///< from the first window of the table
  double rate = 0;     ///< requests a second
  double shape = 1;
  Pattern pattern = Pattern::poisson;

  [[nodiscard]] double draw_gap(double mean, Random& random) const;
  /// Time from the start of the window to its first arrival: the residual life of the renewal process, so
  /// that the expected number of arrivals is exactly rate times length in every window, bursty or not.
  [[nodiscard]] double draw_first_gap(double mean, Random& random) const;
};

struct LengthTables {
  double start_s = 0;  ///< valid from here, from the first window of the table
  TokenHistogram prompt;
  TokenHistogram output;
};

/// clients.csv and lengths.jsonl(.gz) of one model (ServeGen, Xiang et al. 2025).
struct ServegenTables {
  double window_s = 600;
  std::vector<ClientWindow> windows;                           ///< rate over 0 only; by start, then client
  std::map<std::uint32_t, std::vector<LengthTables>> lengths;  ///< of each client by start; none of them empty

  /// The client's lengths at a time: the latest table that has begun, else its first. Null if it has none.
  [[nodiscard]] const LengthTables* lengths_at(std::uint32_t client, double at_s) const;
};

/// `folder` holds both files.
[[nodiscard]] Result<ServegenTables> read_servegen_folder(const std::string& folder);

}  // namespace evenkeel::workload
