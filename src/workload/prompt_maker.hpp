#pragma once

#include <cstdint>
#include <string>

#include "workload/trace.hpp"

namespace evenkeel::workload {

/// Makes prompt texts of an exact token count under the rule "one token is one word": N words of 2 to 8
/// letters with one space between, none at the ends. The words of a prefix block follow from the seed, the
/// block's id and the block size alone, so equal leading ids give equal leading text; what lies behind the
/// blocks follows from the seed and the request's place. The same seed gives the same texts everywhere.
/// O(tokens), about 6 bytes a token.
class PromptMaker {
 public:
  explicit PromptMaker(std::uint64_t seed) : seed_(seed) {}

  /// The text of trace.requests[place].
  [[nodiscard]] std::string text(const Trace& trace, RequestIndex place) const;
  /// Appends `tokens` words that share nothing with others but by chance; `key` tells texts apart.
  void append_unique(std::string& out, Tokens tokens, std::uint64_t key) const;

 private:
  std::uint64_t seed_;
};

}  // namespace evenkeel::workload
