// SPDX-License-Identifier: Apache-2.0
#include "bench/step_profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "bench/step_report.h"
#include "trace/trace_recorder.h"

namespace tvllm::bench {
namespace {

using trace::EventKind;

class StepProfileTest : public ::testing::Test {
 protected:
  // A step of a prompt's chunk, if it has tokens, and of `num_decodes` sequences.
  void plan(std::uint64_t step_id, std::int32_t num_prefill_tokens, std::int32_t num_decodes) {
    const std::int32_t has_prefill = num_prefill_tokens > 0 ? 1 : 0;
    recorder_.set_step(step_id);
    recorder_.add(EventKind::kStepPlanned, {},
                  {num_decodes + has_prefill, num_prefill_tokens + num_decodes, 0, 0});
    if (has_prefill != 0) {
      recorder_.add(EventKind::kSequencePlanned, SeqId(1), {0, num_prefill_tokens, 0, 1});
    }
    for (std::int32_t i = 0; i < num_decodes; ++i)
      recorder_.add(EventKind::kSequencePlanned, SeqId(2), {8, 1, 1, 1});
    recorder_.flush();
  }
  void end(std::uint64_t step_id, std::int32_t forward_us) {
    recorder_.set_step(step_id);
    recorder_.add(EventKind::kStepTimings, {}, {1, 2, forward_us, 4, 5});
    recorder_.flush();
  }

  trace::TraceRing ring_{64 * sizeof(trace::TraceEvent)};
  trace::TraceRecorder recorder_{ring_, TimePoint{}};
};

TEST_F(StepProfileTest, TellsStepsWithPromptTokensFromThoseThatDecode) {
  StepProfile profile(ring_);
  plan(1, 100, 2);
  end(1, 20'000 - 12);
  plan(2, 0, 3);
  end(2, 3'000 - 12);
  plan(3, 0, 3);
  end(3, 1'000 - 12);
  profile.poll();
  EXPECT_EQ(profile.prefill().num_steps, 1);
  EXPECT_EQ(profile.prefill().num_sequences, 3);
  EXPECT_EQ(profile.prefill().num_prefill_tokens, 100);
  EXPECT_EQ(profile.prefill().num_decode_tokens, 2);
  EXPECT_DOUBLE_EQ(profile.prefill().prefill_tokens_per_second(), 5'000.0);
  EXPECT_EQ(profile.decode().num_steps, 2);
  EXPECT_EQ(profile.decode().num_decode_tokens, 6);
  EXPECT_DOUBLE_EQ(profile.decode().decode_tokens_per_second(), 1'500.0);
  EXPECT_NEAR(profile.decode().phase_seconds[3], 8e-6, 1e-12);
  EXPECT_EQ(profile.decode().step_seconds.size(), 2u);
}

TEST_F(StepProfileTest, TwoStepsMayBeInFlight) {
  StepProfile profile(ring_);
  plan(1, 10, 0);
  plan(2, 0, 1);
  end(1, 100);
  plan(3, 0, 1);
  end(2, 100);
  end(3, 100);
  profile.poll();
  EXPECT_EQ(profile.prefill().num_steps, 1);
  EXPECT_EQ(profile.prefill().num_prefill_tokens, 10);
  EXPECT_EQ(profile.decode().num_steps, 2);
  EXPECT_EQ(profile.decode().num_decode_tokens, 2);
}

TEST_F(StepProfileTest, LeavesOutWhatWasBeforeAndStepsThatItSawHalf) {
  plan(1, 10, 0);
  StepProfile profile(ring_);
  end(1, 100);
  plan(2, 0, 1);
  profile.poll();
  profile.skip();
  end(2, 100);
  profile.poll();
  EXPECT_EQ(profile.prefill().num_steps, 0);
  EXPECT_EQ(profile.decode().num_steps, 0);
}

TEST_F(StepProfileTest, CountsWhatTheRingLost) {
  StepProfile profile(ring_);
  plan(1, 0, 90);
  end(1, 100);
  profile.poll();
  EXPECT_EQ(profile.num_lost_events(), 92u - 64u);
  EXPECT_EQ(profile.decode().num_steps, 0);
  profile.clear();
  EXPECT_EQ(profile.num_lost_events(), 0u);
}

TEST_F(StepProfileTest, TheTableShowsMillisecondsAStepAndDashesForNoSteps) {
  StepProfile profile(ring_);
  plan(1, 0, 2);
  end(1, 3'988);
  profile.poll();
  const std::string table = step_table(profile.prefill(), profile.decode());
  EXPECT_NE(table.find("output tokens/s                        -         500.0"), std::string::npos)
      << table;
  EXPECT_NE(table.find("forward                              -         3.988"), std::string::npos)
      << table;
}

}  // namespace
}  // namespace tvllm::bench
