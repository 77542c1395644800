#pragma once

namespace evenkeel::cli {

/// As many as the system allows: a load may hold far more connections than the usual 1024 descriptors.
void raise_descriptor_limit();

}  // namespace evenkeel::cli
