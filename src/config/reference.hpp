#pragma once

#include <string>

namespace evenkeel::config {

/// The tables of docs/configuration.md, in Markdown: every setting with its flag, default, range and meaning.
[[nodiscard]] std::string reference_markdown();

}  // namespace evenkeel::config
