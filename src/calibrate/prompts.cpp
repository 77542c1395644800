#include "calibrate/prompts.hpp"

#include <fmt/format.h>

#include "base/random.hpp"

namespace evenkeel::calibrate {

std::string Prompts::next() {
  // mix64 is one to one, so within a run two nonces are never the same.
  const std::uint64_t nonce = mix64(run_ + made_++);
  return fmt::format(
      "{:016x} is the number of this letter. Write a long letter to a friend about a journey by sea: the harbour, the "
      "ship and her crew, the weather day by day, the islands that were passed, and what was thought of at night. Do "
      "not stop early, and do not sum up.",
      nonce);
}

}  // namespace evenkeel::calibrate
