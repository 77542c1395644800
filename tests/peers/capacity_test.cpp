// What a peer says of its slots, and what of it is believed. R7 and R8 of the catalogue.
#include "peers/capacity.hpp"

#include <gtest/gtest.h>

namespace evenkeel::peers {
namespace {

Fingerprint serving(std::string id) {
  Fingerprint of;
  of.served_id = std::move(id);
  of.max_model_len = 4096;
  of.runtime = "vllm";
  of.quantization = "fp8";
  return of;
}

TEST(PeersR7, ANumberOverTheClampIsCutToItAndSaysSo) {
  const Capacity cut = read_capacity("10000", 64);
  EXPECT_EQ(cut.slots, 64);
  EXPECT_EQ(cut.note, "capacity 10000 cut to 64");
  EXPECT_EQ(read_capacity("10000").slots, 4096) << "the default";
  EXPECT_EQ(read_capacity("1e300", 64).slots, 64);
  EXPECT_EQ(read_capacity("64", 64).slots, 64);
  EXPECT_EQ(read_capacity("64", 64).note, "");
}

TEST(PeersR7, WhatIsNoPositiveNumberIsNotCalibratedAndSaysSo) {
  for (const char* said : {"0", "-1", "NaN", "nan", "inf", "-inf", "many", "\"2\"", "", "0.5", "2 "}) {
    const Capacity refused = read_capacity(said, 64);
    EXPECT_FALSE(refused.slots.has_value()) << said;
    EXPECT_NE(refused.note.find("refused"), std::string::npos) << said;
  }
}

TEST(PeersR7, WholeSlotsCountAndOneIsANumberLikeOthers) {
  EXPECT_EQ(read_capacity("1", 64).slots, 1);
  EXPECT_EQ(read_capacity("2.7", 64).slots, 2);
  EXPECT_EQ(read_capacity("2.0", 64).slots, 2);
}

TEST(PeersR9, APeerThatSaysNothingIsNotCalibratedAndThatIsNoNews) {
  const Capacity none = read_capacity(std::nullopt, 64);
  EXPECT_FALSE(none.slots.has_value());
  EXPECT_EQ(none.note, "");
}

TEST(PeersR8, AnotherModelPutsTheNumberAwayAndSayingItAgainDoesNotBringItBack) {
  CapacityPin pin;
  EXPECT_EQ(pin.admit({4, {}}, 100, serving("a")).slots, 4);
  EXPECT_EQ(pin.admit({4, {}}, 100, serving("a")).slots, 4);
  const Capacity away = pin.admit({4, {}}, 100, serving("b"));
  EXPECT_FALSE(away.slots.has_value());
  EXPECT_NE(away.note.find("put away"), std::string::npos);
  EXPECT_FALSE(pin.admit({4, {}}, 100, serving("a")).slots.has_value()) << "the old model is back, the pin was broken";
  EXPECT_FALSE(pin.admit({4, {}}, 99, serving("b")).slots.has_value()) << "an older measurement";
}

TEST(PeersR8, ALaterMeasurementBringsItBackEvenIfTheNumberIsTheSame) {
  CapacityPin pin;
  (void)pin.admit({4, {}}, 100, serving("a"));
  (void)pin.admit({4, {}}, 100, serving("b"));
  EXPECT_EQ(pin.admit({4, {}}, 101, serving("b")).slots, 4);
  EXPECT_FALSE(pin.admit({4, {}}, 101, serving("a")).slots.has_value()) << "and it is tied to the new model";
}

TEST(PeersR8, OfAPeerWithoutStampsOnlyAnotherNumberIsANewMeasurement) {
  CapacityPin pin;
  (void)pin.admit({4, {}}, std::nullopt, serving("a"));
  EXPECT_FALSE(pin.admit({4, {}}, std::nullopt, serving("b")).slots.has_value());
  EXPECT_EQ(pin.admit({6, {}}, std::nullopt, serving("b")).slots, 6);
}

TEST(PeersR8, WhatIsNotKnownIsNoEvidenceOfAnotherModel) {
  CapacityPin pin;
  (void)pin.admit({4, {}}, 100, serving("a"));
  EXPECT_EQ(pin.admit({4, {}}, 100, Fingerprint{}).slots, 4);
}

TEST(PeersR8, AStampWhereThereWasNoneIsANewMeasurement) {
  CapacityPin pin;
  EXPECT_EQ(pin.admit({4, {}}, std::nullopt, serving("a")).slots, 4);
  EXPECT_FALSE(pin.admit({4, {}}, std::nullopt, serving("b")).slots.has_value());
  EXPECT_EQ(pin.admit({4, {}}, 100, serving("b")).slots, 4);
}

}  // namespace
}  // namespace evenkeel::peers
