#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace evenkeel::redline {

/// What a worker can run short of. A resource more is an enumerator and a name more: all rules go over all of them.
enum class Resource : std::uint8_t {
  kv_memory,  ///< tokens of KV cache (or bytes: any one unit, used throughout)
  slots,      ///< requests at once
  prefill,    ///< prompt tokens that are still to be computed
};
inline constexpr std::array all_resources = {Resource::kv_memory, Resource::slots, Resource::prefill};
[[nodiscard]] constexpr std::string_view to_string(Resource resource) {
  constexpr std::array<std::string_view, all_resources.size()> names = {"kv_memory", "slots", "prefill"};
  return names[static_cast<std::size_t>(resource)];
}

/// An amount of each resource, each in its own unit.
class Amounts {
 public:
  [[nodiscard]] constexpr double& operator[](Resource resource) { return values_[static_cast<std::size_t>(resource)]; }
  [[nodiscard]] constexpr double operator[](Resource resource) const {
    return values_[static_cast<std::size_t>(resource)];
  }
  constexpr Amounts& operator+=(const Amounts& other) {
    for (const Resource each : all_resources) (*this)[each] += other[each];
    return *this;
  }
  constexpr Amounts& operator-=(const Amounts& other) {
    for (const Resource each : all_resources) (*this)[each] -= other[each];
    return *this;
  }

 private:
  std::array<double, all_resources.size()> values_{};
};

}  // namespace evenkeel::redline
