// Which boxes may serve for each other. E2 and E3 of the catalogue.
#include "peers/fingerprint.hpp"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace evenkeel::peers {
namespace {

Fingerprint known() {
  Fingerprint of;
  of.served_id = "qwen-27b";
  of.max_model_len = 262144;
  of.runtime = "vllm";
  of.quantization = "nvfp4";
  of.kv_cache_dtype = "fp8";
  of.reasoning_parser = "qwen3";
  of.tool_parser = "hermes";
  of.speculative_config = "mtp";
  return of;
}

struct Field {
  const char* name;
  std::function<void(Fingerprint&)> differ;
  std::function<void(Fingerprint&)> forget;
};
const std::vector<Field> decisive = {
    {"served_id", [](Fingerprint& of) { of.served_id = "qwen-7b"; }, [](Fingerprint& of) { of.served_id.clear(); }},
    {"max_model_len", [](Fingerprint& of) { of.max_model_len = 4096; },
     [](Fingerprint& of) { of.max_model_len.reset(); }},
    {"runtime", [](Fingerprint& of) { of.runtime = "sglang"; }, [](Fingerprint& of) { of.runtime.clear(); }},
    {"quantization", [](Fingerprint& of) { of.quantization = "fp8"; },
     [](Fingerprint& of) { of.quantization.clear(); }},
};
const std::vector<Field> informational = {
    {"kv_cache_dtype", [](Fingerprint& of) { of.kv_cache_dtype = "auto"; },
     [](Fingerprint& of) { of.kv_cache_dtype.clear(); }},
    {"reasoning_parser", [](Fingerprint& of) { of.reasoning_parser = "r1"; },
     [](Fingerprint& of) { of.reasoning_parser.clear(); }},
    {"tool_parser", [](Fingerprint& of) { of.tool_parser = "json"; }, [](Fingerprint& of) { of.tool_parser.clear(); }},
    {"speculative_config", [](Fingerprint& of) { of.speculative_config = "draft"; },
     [](Fingerprint& of) { of.speculative_config.clear(); }},
};

TEST(PeersE2, EqualFingerprintsAreCompatible) {
  const Compatibility result = compare(known(), known());
  EXPECT_TRUE(result.compatible);
  EXPECT_EQ(result.reason, "");
}

TEST(PeersE2, AFieldThatMustMatchKeepsApartWhenItDiffersOrIsUnknownOnEitherSideAndIsNamed) {
  for (const Field& field : decisive) {
    Fingerprint other = known();
    field.differ(other);
    for (const auto& [here, there] : {std::pair(known(), other), std::pair(other, known())}) {
      const Compatibility result = compare(here, there);
      EXPECT_FALSE(result.compatible) << field.name;
      EXPECT_NE(result.reason.find(std::string(field.name) + " differs"), std::string::npos) << result.reason;
    }
    Fingerprint blank = known();
    field.forget(blank);
    EXPECT_EQ(compare(known(), blank).reason, std::string(field.name) + " is not known there");
    EXPECT_EQ(compare(blank, known()).reason, std::string(field.name) + " is not known here");
    EXPECT_FALSE(compare(blank, blank).compatible) << field.name << ": two unknowns are not equal";
  }
}

TEST(PeersE2, AFieldThatIsOnlyShownKeepsNobodyApart) {
  for (const Field& field : informational) {
    for (const auto& change : {field.differ, field.forget}) {
      Fingerprint other = known();
      change(other);
      EXPECT_TRUE(compare(known(), other).compatible) << field.name;
    }
  }
}

TEST(PeersE3, TheSameWeightsUnderAnotherRuntimeStayOut) {
  Fingerprint other = known();
  other.runtime = canonical_runtime("llama.cpp");
  EXPECT_EQ(compare(known(), other).reason, "runtime differs: vllm here, llamacpp there");
}

TEST(Fingerprint, SpellingsOfARuntimeAreOne) {
  for (const char* spelling : {"llama.cpp", "llamacpp", "Llama-CPP", "LLAMA_CPP"}) {
    EXPECT_EQ(canonical_runtime(spelling), "llamacpp");
  }
  EXPECT_EQ(canonical_runtime("vLLM"), "vllm");
}

TEST(Fingerprint, OnlyWhatIsKnownOnBothSidesIsEvidenceOfAChange) {
  for (const Field& field : decisive) {
    Fingerprint other = known();
    field.forget(other);
    EXPECT_FALSE(definitely_changed(known(), other)) << field.name;
    EXPECT_FALSE(definitely_changed(other, known())) << field.name;
    field.differ(other);
    EXPECT_TRUE(definitely_changed(known(), other)) << field.name;
  }
  for (const Field& field : informational) {
    Fingerprint other = known();
    field.differ(other);
    EXPECT_FALSE(definitely_changed(known(), other)) << field.name;
  }
}

}  // namespace
}  // namespace evenkeel::peers
