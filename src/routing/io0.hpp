#pragma once

#include <cstdint>
#include <vector>

#include "routing/joint.hpp"

namespace evenkeel::routing {

/// The exact one-step program IO_0 (arXiv 2601.17855): of all ways to let as many in as can enter, one that makes the
/// imbalance after it least,
///
///     sum_g (max load - load_g) = G max_g load_g - sum_g load_g                    in KV tokens, G workers
///
/// By dynamic programming over subsets of the window (JointPolicy says what of the pool that is): with f(s) the least
/// peak load when the set s has entered the workers so far, one more worker of load a and c slots makes it
/// min over t in s, |t| <= c, of max(f(s - t), a + tokens of t). The sum depends on s alone.
///
/// It costs O(min(G, window) 3^window) a round: who enters never needs a worker beyond as many of the lightest as
/// enter at all; 2e7 operations are some 0.1 s. After that many in one plan it goes on a request at a time
/// (`one_by_one`), each exact by itself. A judge of other policies, for small fleets.
class Io0 final : public JointPolicy {
 public:
  explicit Io0(std::size_t window) : JointPolicy(window) {}
  [[nodiscard]] std::string_view name() const override { return "io0"; }

 private:
  struct Part {  ///< a worker of this round
    std::uint32_t worker = 0;
    std::uint32_t allowed = 0;  ///< set of the window that may enter it
  };

  void begin(const fleet::FleetView& fleet, Time now) override;
  Solution solve(std::vector<Pick>& picks) override;
  void charge(std::uint32_t worker, std::int64_t tokens) override;

  Solution solve_single(std::vector<Pick>& picks);
  void gather_parts(std::size_t enter);
  void add_worker(const Part& part, std::uint16_t* taken, int enter);
  [[nodiscard]] std::uint32_t best_set() const;
  [[nodiscard]] double imbalance(std::int64_t peak, std::int64_t entering) const;

  std::vector<std::int64_t> loads_;
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
  double spent_ = 0;  ///< operations of this plan
  std::vector<std::uint32_t> by_load_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> tokens_;   ///< by set of the window
  std::vector<std::uint8_t> members_;  ///< by set: how many
  std::vector<std::int64_t> least_;    ///< by set: f
  std::vector<std::uint16_t> taken_;   ///< [part][set]: t of the minimum
};

/// io0[window=10]; 1 to 14.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_io0(Parameters& parameters, const PolicyParts& parts);

}  // namespace evenkeel::routing
