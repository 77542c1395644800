#include "emulator/rank_header.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::emulator {

tl::expected<std::optional<std::size_t>, ApiError> asked_rank(std::optional<std::string_view> header,
                                                              std::size_t ranks) {
  std::string_view digits = trim(header.value_or(""));
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const auto rank = parse_unsigned(digits);  // nothing if it is over 2^64
  if (rank && *rank < ranks && (!negative || *rank == 0)) return static_cast<std::size_t>(*rank);
  constexpr std::size_t shown = 40;
  return tl::unexpected(ApiError{400, "BadRequestError",
                                 fmt::format("data_parallel_rank {}{} is out of range [0, {}).", negative ? "-" : "",
                                             digits.substr(0, shown), ranks),
                                 ""});
}

}  // namespace evenkeel::emulator
