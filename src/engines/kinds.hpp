#pragma once

#include "engines/adapter.hpp"

namespace evenkeel::engines {

// One file each; reached from outside through adapter(Kind).
[[nodiscard]] const Adapter& vllm();
[[nodiscard]] const Adapter& sglang();
[[nodiscard]] const Adapter& llama_cpp();
[[nodiscard]] const Adapter& tgi();
[[nodiscard]] const Adapter& plain_openai();

}  // namespace evenkeel::engines
