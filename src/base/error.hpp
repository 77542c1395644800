#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace evenkeel {

/// What was wrong, in words for the person who can mend it: which field, what was found, what is allowed.
/// For control code (start-up, files, admin). The data plane has its own small enums.
struct Error {
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> failure(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace evenkeel
