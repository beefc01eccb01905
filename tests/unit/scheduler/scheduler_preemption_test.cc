// SPDX-License-Identifier: Apache-2.0
// Running out of blocks, one step at a time. Plans with steps in flight are in
// scheduler_depth_two_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_engine.h"

namespace tvllm::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::make_request;
using testing::shares;
using ::testing::SizeIs;
using testing::SteppedScheduler;

// Two sequences of 7 prompt tokens fill 4 blocks of 4; the third step needs a fifth.
SteppedScheduler full_house() {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.add({.prompt_len = 7, .max_tokens = 5});
  EXPECT_EQ(s.step(), "1:7+ 2:7+");
  EXPECT_EQ(s.step(), "1:1+ 2:1+");
  return s;
}

TEST(SchedulerPreemptionTest, TakesTheBlocksOfTheLastArrivalWhenTheyRunOut) {
  SteppedScheduler s = full_house();
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.num_blocks_of(SeqId(1)), 3);
  EXPECT_EQ(s.num_blocks_of(SeqId(2)), 0);
  EXPECT_EQ(s->stats().num_preemptions, 1u);
  EXPECT_EQ(s->stats().num_waiting, 1);
}

TEST(SchedulerPreemptionTest, TellsTheExecutorThatTheVictimsStateSlotIsFree) {
  SteppedScheduler s = full_house();
  EXPECT_THAT(s.plan().released_slots, ElementsAre(StateSlot(1)));
}

TEST(SchedulerPreemptionTest, ResumesWithItsOutputsOnceAllOfThemFit) {
  SteppedScheduler s = full_house();
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "1:1+") << "one block is free, nine known tokens need three";
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kLength);

  const StepPlan& plan = s.plan();
  EXPECT_EQ(shares(plan), "2:9+");
  ASSERT_THAT(plan.started, SizeIs(1));
  EXPECT_THAT(plan.started[0].known_token_ids,
              ElementsAre(100, 101, 102, 103, 104, 105, 106, 1000, 1001));
  EXPECT_EQ(plan.sequences[0].num_computed_tokens, 0);
  EXPECT_EQ(plan.sequences[0].output_idx, 2);
  EXPECT_EQ(s.apply()[0].token_id, 1002);
}

TEST(SchedulerPreemptionTest, RecomputesInChunksLikeAnyPrompt) {
  SteppedScheduler s(
      {.max_num_seqs = 4, .max_num_batched_tokens = 7, .block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 7, .max_tokens = 4});
  s.add({.prompt_len = 6, .max_tokens = 9});
  EXPECT_EQ(s.step(), "1:7+");
  EXPECT_EQ(s.step(), "1:1+ 2:6+");
  EXPECT_EQ(s.step(), "1:1+") << "the second is preempted for a third block";
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "2:7+");
}

TEST(SchedulerPreemptionTest, GoesBackBeforeLaterArrivals) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 7, .max_tokens = 4});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.step();
  s.step();
  s.add({.prompt_len = 1, .max_tokens = 1});
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "1:1+") << "the third would fit, but the second is before it";
  EXPECT_EQ(s.step(), "2:9+ 3:1+");
}

TEST(SchedulerPreemptionTest, AdmitsNobodyInAStepThatPreempts) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 7, .max_tokens = 5, .priority = 1});
  s.add({.prompt_len = 7, .max_tokens = 5, .priority = 2});
  s.step();
  s.step();
  s.add({.prompt_len = 1, .max_tokens = 1, .priority = 0});
  EXPECT_EQ(s.step(), "1:1+") << "the victim's second block would be enough for the third";
  EXPECT_EQ(s.step(), "1:1+ 3:1+");
}

TEST(SchedulerPreemptionTest, PreemptsAsManyAsItMustAndNoMore) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 8});
  for (int i = 0; i < 4; ++i) {
    s.add({.prompt_len = 4});
  }
  EXPECT_EQ(s.step(), "1:4+ 2:4+ 3:4+ 4:4+");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+ 4:1+");
  }
  // Each needs a third block. The fourth gives two, which serve the first two; the third gives way
  // itself.
  EXPECT_EQ(s.step(), "1:1+ 2:1+");
  EXPECT_EQ(s->stats().num_preemptions, 2u);
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 6);
}

TEST(SchedulerPreemptionTest, LeavesALoneSequenceUntouchedToTheEndOfThePool) {
  SteppedScheduler s({.max_model_len = 16, .block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 2, .max_tokens = 100});
  int num_steps = 0;
  do {
    s.step();
    ++num_steps;
  } while (s.events.back().finish_reason == FinishReason::kNone);
  EXPECT_EQ(num_steps, 14);
  EXPECT_EQ(s.events.back().finish_reason, FinishReason::kLength);
  EXPECT_EQ(s->stats().num_preemptions, 0u);
}

// Under the priority policy the victim can stand before the sequence that needs its blocks, and
// have its share of the plan already.
TEST(SchedulerPreemptionTest, TakesBackTheShareOfAVictimThatWasPlannedAlready) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 5, .priority = 9});
  ASSERT_EQ(s.step(), "1:5+");
  s.add({.prompt_len = 8, .priority = 0});
  ASSERT_EQ(s.step(), "1:1+ 2:8+");

  const StepPlan& plan = s.plan();  // the first is planned, then the second needs a third block
  EXPECT_EQ(shares(plan), "2:1+");
  EXPECT_THAT(plan.token_ids, ElementsAre(1000));
  EXPECT_THAT(plan.tables[0].offsets, ElementsAre(0, 3));
  EXPECT_THAT(plan.released_slots, ElementsAre(StateSlot(0)));
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 3);
  EXPECT_THAT(s.apply(), SizeIs(1));
  EXPECT_EQ(s->stats().num_generated_tokens, 4u);
}

TEST(SchedulerPreemptionTest, GivesThePlannedVictimsTokensToThoseBehind) {
  SteppedScheduler s({.max_num_seqs = 3,
                      .max_num_batched_tokens = 3,
                      .block_size = 4,
                      .num_blocks = 7,
                      .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 3, .max_tokens = 20, .priority = 9});
  ASSERT_EQ(s.step(), "1:3+");
  s.add({.prompt_len = 2, .max_tokens = 20, .priority = 0});
  ASSERT_EQ(s.step(), "1:1+ 2:2+");
  s.add({.prompt_len = 8, .priority = 0});
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(s.step(), "1:1+ 2:1+ 3:1");
  }
  // The first is planned, then loses its share to the second's third block: two tokens are left for
  // the prompt instead of one.
  EXPECT_EQ(s.step(), "2:1+ 3:2+");
}

TEST(SchedulerPreemptionTest, SkipsNobodyAfterAVictimFromTheMiddle) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 8, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 5, .priority = 0});
  s.add({.prompt_len = 5, .priority = 9});
  ASSERT_EQ(s.step(), "1:5+ 2:5+");
  s.add({.prompt_len = 8, .priority = 0});
  s.add({.prompt_len = 5, .priority = 0});
  ASSERT_EQ(s.step(), "1:1+ 2:1+ 3:8+ 4:5+");
  EXPECT_EQ(s.step(), "1:1+ 3:1+ 4:1+");
}

TEST(SchedulerPreemptionTest, PreemptsTheNeedyOneItselfIfItComesLastAndServesTheRest) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 6, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 8, .priority = 9});
  ASSERT_EQ(s.step(), "1:8+");
  s.add({.prompt_len = 9, .priority = 0});
  ASSERT_EQ(s.step(), "1:1+ 2:9+") << "three blocks each, with room for 12 tokens";
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(s.step(), "1:1+ 2:1+");
  }
  EXPECT_EQ(s.step(), "2:1+");
  EXPECT_EQ(s.num_blocks_of(SeqId(1)), 0);
  EXPECT_EQ(s.num_blocks_of(SeqId(2)), 4);
}

TEST(SchedulerPreemptionTest, AdmitsTheMoreUrgentFirstUnderThePriorityPolicy) {
  SteppedScheduler s({.policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 5, .priority = 9});
  s.add({.prompt_len = 6, .priority = 0});
  s.add({.prompt_len = 7, .priority = 0});
  EXPECT_EQ(s.step(), "2:6+ 3:7+ 1:5+");
}

TEST(SchedulerPreemptionTest, KeepsItsPlaceAmongPrioritiesWhenItComesBack) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 7, .max_tokens = 4, .priority = 0});
  s.add({.prompt_len = 7, .max_tokens = 4, .priority = 1});
  s.step();
  s.step();
  s.add({.prompt_len = 4, .max_tokens = 1, .priority = 2});
  s.add({.prompt_len = 4, .max_tokens = 1, .priority = 1});
  s.add({.prompt_len = 4, .max_tokens = 1, .priority = 0});
  EXPECT_EQ(s.step(), "1:1+") << "the second is preempted";
  EXPECT_EQ(s.step(), "1:1+ 5:4+") << "more urgent than the victim";
  EXPECT_EQ(s.step(), "2:9+ 4:4+") << "equal priority, later arrival";
  EXPECT_EQ(s.step(), "2:1+ 3:4+");
}

TEST(SchedulerPreemptionTest, NeverPreemptsForAStateSlotWhateverThePriority) {
  SteppedScheduler s({.max_num_seqs = 1, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 4, .max_tokens = 3, .priority = 9});
  s.step();
  s.add({.prompt_len = 4, .max_tokens = 3, .priority = 0});
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "2:4+");
}

// Rows of prompt log-probabilities by position, as delivered.
std::vector<int> delivered_positions(const std::vector<TokenEvent>& events, SeqId seq_id) {
  std::vector<int> positions;
  for (const TokenEvent& event : events) {
    if (event.seq_id != seq_id) continue;
    for (const PositionLogprobs& row : event.prompt_logprobs) {
      positions.push_back(row.token.rank);
    }
  }
  return positions;
}

TEST(SchedulerPreemptionTest, DeliversPromptLogprobsOnceThoughTheyAreComputedTwice) {
  for (const int depth : {1, 2}) {
    const testing::SchedulerSpec spec{
        .max_num_seqs = 2, .max_num_batched_tokens = 3, .block_size = 4, .num_blocks = 7};
    testing::ScriptedEngine engine(spec.options(), depth, 1000);
    std::vector<TokenEvent> events;
    // The second computes two prompt tokens a step beside the first, which outgrows it when 16 are
    // done; later it recomputes three a step, the chunk [15, 18) among them.
    engine.scheduler().add(SeqId(1),
                           make_request({.prompt_len = 1, .max_tokens = 11, .ignore_eos = true}));
    engine.scheduler().add(
        SeqId(2),
        make_request(
            {.prompt_len = 20, .max_tokens = 4, .num_prompt_logprobs = 0, .ignore_eos = true}));
    while (engine.has_work()) {
      engine.step(events);
      ASSERT_EQ(engine.executor().violation(), "");
    }
    EXPECT_GE(engine.scheduler().stats().num_preemptions, 1u) << "depth " << depth;
    EXPECT_THAT(delivered_positions(events, SeqId(2)),
                ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19))
        << "depth " << depth;
    EXPECT_THAT(delivered_positions(events, SeqId(1)), IsEmpty());
    EXPECT_EQ(engine.scheduler().stats().num_prompt_tokens, 21u) << "recomputed ones count once";
  }
}

}  // namespace
}  // namespace tvllm::scheduler
