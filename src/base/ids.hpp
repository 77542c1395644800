#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace evenkeel {

/// A small integer that names one thing of one kind. Two kinds do not compare.
template <class Kind, class Rep = std::uint32_t>
struct Id {
  Rep value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using WorkerId = Id<struct WorkerKind>;
using ModelId = Id<struct ModelKind>;
using ClientKey = Id<struct ClientKind, std::uint64_t>;   ///< hash of what tells clients apart
using RequestId = Id<struct RequestKind, std::uint64_t>;  ///< given by the dispatcher, in order of arrival

}  // namespace evenkeel

template <class Kind, class Rep>
struct std::hash<evenkeel::Id<Kind, Rep>> {
  std::size_t operator()(evenkeel::Id<Kind, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
