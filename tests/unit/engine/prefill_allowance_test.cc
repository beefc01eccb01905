// SPDX-License-Identifier: Apache-2.0
#include "engine/prefill_allowance.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler.h"

namespace tvllm::engine {
namespace {

using scheduler::kNoPrefillBound;
using Mode = StepTimeTarget::Mode;

// 10 ms for 8 decodes, and 1 ms for each prompt token: told by steps of both kinds.
void observe_machine(PrefillAllowance& allowance) {
  for (int i = 0; i < 200; ++i) {
    allowance.observe({.num_decode_tokens = 8}, 0.010);
    const int num_tokens = 5 + i % 60;
    allowance.observe({.num_decode_tokens = 8, .num_prefill_tokens = num_tokens},
                      0.010 + 0.001 * num_tokens);
  }
}

constexpr scheduler::UpcomingLoad kEightDecodes{.num_decode_tokens = 8};

TEST(PrefillAllowanceTest, AutoLeavesAMultipleOfTheDecodesTime) {
  PrefillAllowance allowance({.mode = Mode::kAuto});
  observe_machine(allowance);
  const double expected = (PrefillAllowance::kAutoFactor - 1.0) * 10.0;
  EXPECT_NEAR(allowance.tokens(kEightDecodes), expected, 2.0);
}

TEST(PrefillAllowanceTest, AFixedTargetLeavesWhatTheDecodesDoNotTake) {
  PrefillAllowance allowance({.mode = Mode::kFixed, .seconds = 0.060});
  observe_machine(allowance);
  EXPECT_NEAR(allowance.tokens(kEightDecodes), 50, 2);
}

TEST(PrefillAllowanceTest, PromptsAreUnboundedWhileNobodyDecodes) {
  PrefillAllowance allowance({.mode = Mode::kAuto});
  observe_machine(allowance);
  EXPECT_EQ(allowance.tokens({}), kNoPrefillBound);
}

TEST(PrefillAllowanceTest, OffMeansNoBound) {
  PrefillAllowance allowance({.mode = Mode::kOff});
  observe_machine(allowance);
  EXPECT_EQ(allowance.tokens(kEightDecodes), kNoPrefillBound);
}

TEST(PrefillAllowanceTest, WithoutAnEstimateThereIsNoBound) {
  EXPECT_EQ(PrefillAllowance({.mode = Mode::kAuto}).tokens(kEightDecodes), kNoPrefillBound);
}

TEST(PrefillAllowanceTest, PromptsAdvanceEvenWhenTheDecodesAreOverTheTarget) {
  PrefillAllowance allowance({.mode = Mode::kFixed, .seconds = 0.001});
  observe_machine(allowance);
  EXPECT_EQ(allowance.tokens(kEightDecodes), PrefillAllowance::kMinTokens);
}

TEST(ParseStepTimeTargetTest, ReadsWhatTheFlagSays) {
  EXPECT_EQ(parse_step_time_target("auto")->mode, Mode::kAuto);
  EXPECT_EQ(parse_step_time_target("0")->mode, Mode::kOff);
  EXPECT_EQ(parse_step_time_target("12.5")->mode, Mode::kFixed);
  EXPECT_DOUBLE_EQ(parse_step_time_target("12.5")->seconds, 0.0125);
  EXPECT_DOUBLE_EQ(parse_step_time_target("60000")->seconds, 60.0);
  for (const char* bad : {"", "-1", "60001", "fast", "nan", "10ms"}) {
    const auto target = parse_step_time_target(bad);
    ASSERT_FALSE(target.has_value()) << bad;
    EXPECT_EQ(target.error().param, "target-step-ms");
  }
}

}  // namespace
}  // namespace tvllm::engine
