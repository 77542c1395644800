#include "engine/presets.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace evenkeel::engine {
namespace {

// Where the numbers come from.
//
// Linear layers: least squares over the kernel profiles published with Vidur (Agrawal et al. 2024):
//   Llama-3-8B A100 9.3 ms + 0.044 ms/token up to 256 tokens, 8.8 + 0.066 from 1024; Llama-2-7B H100
//   5.4 + 0.0148 and 1.5 + 0.0207; Llama-2-70B H100 TP8 8.6 + 0.016 and 6.3 + 0.029; Llama-3-70B A100 TP8
//   12.6 + 0.068 and 6.0 + 0.086.
// End to end: fits of Splitwise's measurements (Patel et al. 2024), older software and so the slow end:
//   Llama-2-70B TP8 decode H100 29.8 ms + 1.7e-4 ms/KV token, A100 44.1 + 3.2e-4.
//   The 70B rows below take the fast end, which is nearer to engines of today.
// KV term: reading 2 bytes * 2 * layers * KV heads * head size a token (131072 B for 8B, 327680 B for 70B)
//   at 70 % of the memory bandwidth (H100 3.35 TB/s, A100-80 2.04, Orin 0.205).
// Edge: llama.cpp on AGX Orin, 4-bit 7B and 8B, 22 to 25 tokens/s (nvidia-holoscan/holohub#170,
//   OpenBMB/MiniCPM#331). CPU: a 4-bit 14B model at 28.7 tokens/s on a 12-channel EPYC, an 8B at 7.6 on a
//   small Arm board; the middle of that range, with little confidence.
// Slots and budgets: vLLM's defaults by device memory (H100 1024 and 8192, A100 256 and 2048, CPU 128
//   and 2048); the Orin's as of llama.cpp (4 slots, n_batch 2048).
// KV capacity: (92 % of device memory - weights - about 3 GB a device of activations) / bytes a token: 8B on
//   80 GB 55 GB; 70B on 8 x 80 GB 425 GB. Orin and CPU: 8 and 16 GiB set aside.
// The quadratic prefill term stays 0: the fits above carry it in their slope at ordinary prompt lengths.
//
// paper: a data-parallel decode rank of DeepSeek-V3 as in "Tackling the Data-Parallel Load Balancing
//   Bottleneck in LLM Serving" (arXiv 2605.06113): regression of TPOT on barrier load gives 0.14 to 0.22
//   microseconds a KV token over 62 to 78 ms. Prefill happens elsewhere.
//   72 slots as in the public simulator of arXiv 2601.17855; KV that does not run short, as its model has it.
constexpr std::array<EnginePreset, 7> table = {{
    {"8b-h100", "8B, fp16, one H100-80", {6, 0.020, 6e-5}, 1024, 8192, Tokens(420'000)},
    {"8b-a100", "8B, fp16, one A100-80", {9.5, 0.060, 9e-5}, 256, 2048, Tokens(420'000)},
    {"70b-h100-tp8", "70B, fp16, eight H100-80", {12, 0.03, 2e-5}, 1024, 8192, Tokens(1'300'000)},
    {"70b-a100-tp8", "70B, fp16, eight A100-80", {18, 0.09, 3e-5}, 256, 2048, Tokens(1'300'000)},
    {"8b-q4-orin", "8B, 4 bit, AGX Orin 64 GB", {42, 1.2, 9e-4}, 4, 2048, Tokens(65'536)},
    {"8b-q4-cpu", "8B, 4 bit, server CPU", {90, 10, 1e-3}, 128, 2048, Tokens(131'072)},
    {"paper", "decode rank, prefill elsewhere", {70, 0, 2e-4, 0, true}, 72, 8192, Tokens(2'000'000)},
}};

}  // namespace

EngineConfig EnginePreset::config() const {
  EngineConfig config;
  config.law = law;
  config.slots = slots;
  config.step_token_budget = step_token_budget;
  config.kv_capacity = kv_capacity;
  return config;
}

std::span<const EnginePreset> presets() { return table; }

Result<EngineConfig> preset(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &EnginePreset::name);
  if (found != table.end()) return found->config();
  std::vector<std::string_view> names;
  for (const EnginePreset& each : table) names.push_back(each.name);
  const std::string_view near = nearest_name(name, names);
  return failure(fmt::format("no engine preset is named \"{}\"{}: there are {}", name,
                             near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(names, ", ")));
}

}  // namespace evenkeel::engine
