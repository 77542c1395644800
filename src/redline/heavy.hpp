#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/ids.hpp"

namespace evenkeel::redline {

/// What is known of a request when it is admitted.
struct RequestSigns {
  std::int64_t prompt_tokens = 0;
  std::int64_t bound = 0;    ///< of output tokens; 0 = none
  std::uint64_t client = 0;  ///< whose history counts; 0 = nobody's
  std::optional<bool> told;  ///< said by the client: heavy or light
};

/// Whether a request will be heavy (have more than so many output tokens), guessed before it begins. The prior of being
/// heavy is, in this order: 0 where the bound forbids it; what the client said; else the client's own share of heavy
/// requests, shrunk towards that of prompts of such a length, shrunk towards that of all:
///
///   p_all = (h + 1) / (n + 4),  p_length = (h_l + 8 p_all) / (n_l + 8),  p = (h_c + 8 p_length) / (n_c + 8)
///
/// with counts that fade. Clients are remembered up to a number, then forgotten one for one. Not thread-safe.
class HeavyClassifier {
 public:
  struct Options {
    std::int64_t heavy_tokens = 1024;  ///< output beyond which a request is heavy
    double theta = 0.5;                ///< routed as heavy from this prior on
    std::size_t most_clients = 4096;
  };
  struct Counts {
    std::uint64_t ended = 0;
    std::uint64_t called_heavy = 0;  ///< and were light
    std::uint64_t called_light = 0;  ///< and were heavy
    std::uint64_t corrected = 0;     ///< called light, found heavy by their age while they ran
    [[nodiscard]] double misrouted() const {
      return ended == 0 ? 0 : static_cast<double>(called_heavy + called_light) / static_cast<double>(ended);
    }
  };

  explicit HeavyClassifier(Options options) : options_(options) {}

  [[nodiscard]] double prior(const RequestSigns& signs) const;
  [[nodiscard]] bool heavy(const RequestSigns& signs) const { return prior(signs) >= options_.theta; }
  [[nodiscard]] bool heavy_by_age(std::int64_t output) const { return output > options_.heavy_tokens; }
  /// While it runs: called light, and of an age that shows it is not.
  void corrected() { ++counts_.corrected; }
  void ended(const RequestSigns& signs, bool called_heavy, std::int64_t output);
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::int64_t heavy_tokens() const { return options_.heavy_tokens; }

 private:
  struct Share {
    double heavy = 0;
    double all = 0;
    void add(bool is_heavy);
    [[nodiscard]] double shrunk(double towards) const { return (heavy + 8 * towards) / (all + 8); }
  };
  [[nodiscard]] static std::size_t length_class(std::int64_t prompt_tokens);

  Options options_;
  Share all_;
  std::array<Share, 24> by_length_;  ///< powers of two
  std::unordered_map<std::uint64_t, Share> by_client_;
  Counts counts_;
};

}  // namespace evenkeel::redline
