// SPDX-License-Identifier: Apache-2.0
#include "core/step_timings.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/virtual_clock.h"

namespace tvllm {
namespace {

using std::chrono::nanoseconds;

TEST(StepReport, CountsPositionsThatEachNewTokenAttendsTo) {
  StepPlan plan;
  plan.step_id = 7;
  // Positions 5, 6, 7 attend to 6, 7, 8 positions; position 9 attends to 10; position 0 to itself.
  plan.sequences.push_back({.seq_id = SeqId(1),
                            .state_slot = StateSlot(1),
                            .num_computed_tokens = 5,
                            .num_new_tokens = 3});
  plan.sequences.push_back({.seq_id = SeqId(2),
                            .state_slot = StateSlot(2),
                            .num_computed_tokens = 9,
                            .num_new_tokens = 1});
  plan.sequences.push_back({.seq_id = SeqId(3),
                            .state_slot = StateSlot(3),
                            .num_computed_tokens = 0,
                            .num_new_tokens = 1});
  const StepReport report = report_of(plan);
  EXPECT_EQ(report.step_id, 7u);
  EXPECT_EQ(report.num_sequences, 3);
  EXPECT_EQ(report.num_prefill_tokens, 3);
  EXPECT_EQ(report.num_decode_tokens, 2);
  EXPECT_EQ(report.num_context_tokens, 6 + 7 + 8 + 10 + 1);
}

TEST(PhaseTimer, GivesEachPhaseTheTimeSinceTheLastBorder) {
  testing::VirtualClock clock;
  clock.advance(nanoseconds(100));
  PhaseTimer timer(clock);
  nanoseconds first{};
  nanoseconds second{};
  clock.advance(nanoseconds(3));
  timer.end_phase(first);
  clock.advance(nanoseconds(5));
  timer.end_phase(second);
  clock.advance(nanoseconds(7));
  timer.end_phase(first);
  EXPECT_EQ(first, nanoseconds(3 + 7));
  EXPECT_EQ(second, nanoseconds(5));
  EXPECT_EQ(timer.border(), TimePoint(nanoseconds(115)));
}

}  // namespace
}  // namespace tvllm
