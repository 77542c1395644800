#pragma once

#include <cstdint>

namespace evenkeel::simulation {

/// Mean imbalance, in tokens, of every rule that admits in order of arrival and keeps all slots full, with prompts S
/// even on 1..longest_prompt and outputs geometric, P(O = n) = stop (1 - stop)^(n-1). In the long run the slots hold
/// independent copies of S + A with A = O - 1 in law (arXiv 2601.17855, behind theorem 1), so a worker's load is a sum
/// of `slots` of them and E[I] = G E[max of G loads] - G E[load]. Exact but for rounding; the law of the load is
/// computed slot by slot, O(slots * its range).
[[nodiscard]] double stationary_imbalance(std::int64_t workers, std::int64_t slots, std::int64_t longest_prompt,
                                          double stop);

}  // namespace evenkeel::simulation
