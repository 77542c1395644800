#include "engines/adapter.hpp"

#include <algorithm>
#include <array>

#include "engines/kinds.hpp"

namespace evenkeel::engines {
namespace {
constexpr std::array<std::string_view, 5> names = {"vllm", "sglang", "llama.cpp", "tgi", "openai"};
}  // namespace

std::span<const std::string_view> kind_names() { return names; }

std::optional<Kind> kind_named(std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Kind>(at - names.begin());
}

bool Report::any() const { return running || waiting || kv_used || kv_capacity || slots || preemptions_total; }

std::string_view Adapter::name() const { return names[static_cast<std::size_t>(kind())]; }

Reading Adapter::read(std::span<const std::string> /*bodies*/) const { return {}; }

const Adapter& adapter(Kind kind) {
  switch (kind) {
    case Kind::vllm: return vllm();
    case Kind::sglang: return sglang();
    case Kind::llama_cpp: return llama_cpp();
    case Kind::tgi: return tgi();
    case Kind::openai: return plain_openai();
  }
  return plain_openai();
}

}  // namespace evenkeel::engines
