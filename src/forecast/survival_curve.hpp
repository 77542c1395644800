#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forecast/length_grid.hpp"

namespace evenkeel::forecast {

/// The law of output lengths O from lives seen in part or in whole: S(u) = P(O > u) by the product-limit estimate
/// (Kaplan and Meier, JASA 53, 1958), S(u) = prod over v <= u of (1 - ends at v / lives seen to reach v). A life that
/// is not over, or was broken off, counts among those that reached v for what was seen of it and among no ends. Both
/// counts fade with `half_life` ends, each at the instant it was seen (a period life table), so that a law that drifts
/// is followed without favour to short lives. Without fading it is Kaplan and Meier's estimate to the letter.
///
/// Questions are answered from a table of S and its sums, at the nodes of LengthGrid, which rebuild() makes anew:
///   survival  P(O > a + t | O > a)      = S(a + t) / S(a)
///   remaining E[min(O - a, H) | O > a]  = sum over u in [a, a + H) of S(u) / S(a)
/// Exact up to 4,096 tokens. Above, S is linear between nodes, w tokens apart (w <= length / 2,048), and with
/// m(u) = P(O in the bucket of u) the answers are off by at most
///   survival  (m(a) + m(a + t)) / S(a)
///   remaining (w P(a < O <= a + H + w) + H m(a)) / S(a)
/// for lives that end; lives broken off in a bucket count for the part of it they were seen.
/// Cost: a question about 4 ns, no allocation; adding about 10 ns; rebuild() about 4 ns a bucket in use.
class SurvivalCurve {
 public:
  /// `half_life` in ends, > 0; infinite: nothing fades.
  explicit SurvivalCurve(double half_life);

  /// A life of `from` tokens was seen to reach `to` (and may be over there: see ended()).
  void lived(std::int64_t from, std::int64_t to);
  /// A life, already told to have lived as far, is over with `length` tokens, >= 1. All that came before fades by one.
  void ended(std::int64_t length);
  void rebuild();

  /// With no life seen beyond `age`: `horizon`. At least 1. age >= 0, horizon >= 1.
  [[nodiscard]] double remaining(std::int64_t age, std::int64_t horizon) const;
  /// With no life seen beyond `age`: 1.
  [[nodiscard]] double survival(std::int64_t age, std::int64_t tokens) const;

 private:
  /// What is known at a node: S, and the sum of S(u) from here to the end of the table.
  struct Node {
    double survival = 1;
    double tail = 0;
  };
  [[nodiscard]] Node at(std::int64_t length) const;
  void expose(std::int64_t from, std::int64_t to);
  void rescale();

  double growth_;      ///< of the weight of what comes, an end
  double weight_ = 1;  ///< of what is seen now; instead of fading all, what comes weighs more
  // By bucket; a length v counts in the bucket of v - 1, so that S at a node has all ends up to it.
  std::vector<double> ends_;
  std::vector<double> reach_;    ///< sums from the top: lives that reach a bucket, whole
  std::vector<double> partial_;  ///< parts of the bucket that lives were not seen in
  std::size_t used_ = 0;         ///< buckets with anything in them
  std::vector<Node> nodes_;
  std::int64_t end_ = 0;  ///< where the table ends: no life was seen beyond
};

}  // namespace evenkeel::forecast
