#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "config/settings.hpp"
#include "pressure/host.hpp"
#include "pressure/judge.hpp"

namespace evenkeel::gateway {

/// The last look at the box that this router is on.
struct PressureLook {
  pressure::Reading reading;
  pressure::Figures figures;
  pressure::Verdict verdict;
  bool shedding = false;    ///< as the verdict says, if the setting lets it
  std::uint64_t looks = 0;  ///< so far
  std::uint64_t turns = 0;  ///< times it began to shed
};

/// Looks at the box every so often, on the control thread, and tells when it is to take nothing new on and when it is
/// again. Answers from any thread.
class PressureWatch {
 public:
  using Tell = std::function<void(bool sheds)>;
  /// `tell` is called on the control thread, only when the word has changed, and only with mode "shed".
  PressureWatch(const config::PressureSettings& settings, Tell tell);

  /// Looks if it is due: some ten small files, 0.2 ms. The first call always does. Control thread.
  void tick(Time now);
  [[nodiscard]] PressureLook look() const;
  [[nodiscard]] const config::PressureSettings& settings() const { return settings_; }
  /// Who waits most there now. Up to 20 ms where there are many cgroups.
  [[nodiscard]] Result<pressure::CgroupStalls> worst_cgroups() const { return host_.worst_cgroups(5); }

 private:
  const config::PressureSettings settings_;
  const Tell tell_;
  const pressure::Host host_;
  pressure::Meter meter_;
  pressure::Judge judge_;
  std::optional<Time> next_;
  mutable std::mutex mutex_;
  PressureLook look_;
};

}  // namespace evenkeel::gateway
