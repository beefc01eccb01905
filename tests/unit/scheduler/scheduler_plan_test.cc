// SPDX-License-Identifier: Apache-2.0
// What a plan holds: budget, chunks, order, admission. Answers are made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::shares;
using ::testing::SizeIs;
using testing::SteppedScheduler;

// The example that the project began with: a prompt of 24 tokens, chunks of 8, blocks of 4.
TEST(SchedulerPlanTest, ComputesAPromptInThreeChunksWhileTwoOthersDecode) {
  SteppedScheduler s({.max_num_batched_tokens = 10, .block_size = 4});
  s.add({.prompt_len = 5});
  s.add({.prompt_len = 5});
  ASSERT_EQ(s.step(), "1:5+ 2:5+");
  const SeqId prompt = s.add({.prompt_len = 24});

  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:8");
  EXPECT_EQ(s.num_blocks_of(prompt), 2);
  EXPECT_THAT(s.events, SizeIs(2)) << "the prompt has no token yet";

  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:8");
  EXPECT_EQ(s.num_blocks_of(prompt), 4);

  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:8+");
  EXPECT_EQ(s.num_blocks_of(prompt), 6);
  ASSERT_THAT(s.events, SizeIs(3));
  EXPECT_EQ(s.events[2].seq_id, prompt);
  EXPECT_EQ(s.events[2].token_id, 1000);

  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+");
  EXPECT_EQ(s.num_blocks_of(prompt), 7);
}

TEST(SchedulerPlanTest, WritesPositionsTokensAndTablesOfEachSequence) {
  SteppedScheduler s({.max_num_batched_tokens = 10, .num_kv_groups = 2, .block_size = 4});
  s.add({.prompt_len = 3});
  s.step();
  s.add({.prompt_len = 12});
  s.step();  // 1:1+ 2:9
  const StepPlan& plan = s.plan();

  ASSERT_THAT(plan.sequences, SizeIs(2));
  EXPECT_EQ(plan.sequences[0].num_computed_tokens, 4);
  EXPECT_EQ(plan.sequences[0].output_idx, 2);
  EXPECT_TRUE(plan.sequences[0].samples_token);
  EXPECT_EQ(plan.sequences[1].num_computed_tokens, 9);
  EXPECT_EQ(plan.sequences[1].num_new_tokens, 3);
  EXPECT_EQ(plan.sequences[1].output_idx, 0);
  EXPECT_THAT(plan.token_ids, ElementsAre(1001, 109, 110, 111));
  ASSERT_THAT(plan.tables, SizeIs(2));
  for (const BlockTables& tables : plan.tables) {
    EXPECT_THAT(tables.offsets, ElementsAre(0, 2, 5));
  }
  EXPECT_THAT(plan.started, IsEmpty());
}

TEST(SchedulerPlanTest, StartsASequenceOnceWithItsPromptAndAStateSlot) {
  SteppedScheduler s({.max_num_batched_tokens = 8});
  const SeqId seq = s.add({.prompt_len = 12});
  const StepPlan& first = s.plan();
  ASSERT_THAT(first.started, SizeIs(1));
  EXPECT_EQ(first.started[0].seq_id, seq);
  EXPECT_EQ(first.started[0].state_slot, first.sequences[0].state_slot);
  EXPECT_EQ(first.started[0].known_token_ids, first.started[0].request->prompt_token_ids);
  s.apply();
  EXPECT_THAT(s.plan().started, IsEmpty());
}

TEST(SchedulerPlanTest, GivesTheWholeBudgetAndNoMore) {
  SteppedScheduler s({.max_num_seqs = 4, .max_num_batched_tokens = 16});
  for (const int prompt_len : {7, 7, 7, 7}) {
    s.add({.prompt_len = prompt_len});
  }
  EXPECT_EQ(s.step(), "1:7+ 2:7+ 3:2");
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:5+ 4:7+");
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+ 4:1+");
}

TEST(SchedulerPlanTest, SamplesExactlyWhenTheLastPromptTokenIsComputed) {
  for (const int budget : {15, 16, 17}) {
    SteppedScheduler s({.max_num_batched_tokens = budget});
    s.add({.prompt_len = 16});
    const StepPlan& plan = s.plan();
    EXPECT_EQ(plan.sequences[0].samples_token, budget >= 16) << budget;
    EXPECT_EQ(plan.num_tokens(), std::min(budget, 16));
  }
}

TEST(SchedulerPlanTest, ChunksAPromptOfBudgetPlusOneIntoTwo) {
  SteppedScheduler s({.max_num_batched_tokens = 16});
  s.add({.prompt_len = 17});
  EXPECT_EQ(s.step(), "1:16");
  EXPECT_EQ(s.step(), "1:1+");
}

TEST(SchedulerPlanTest, ComputesAPromptOfOneToken) {
  SteppedScheduler s({});
  s.add({.prompt_len = 1, .max_tokens = 2});
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.step(), "");
}

TEST(SchedulerPlanTest, AdmitsInOrderOfArrivalAndLetsNobodyPassTheFirst) {
  SteppedScheduler s({.max_num_batched_tokens = 64, .block_size = 4, .num_blocks = 8});
  s.add({.prompt_len = 16, .max_tokens = 4});  // 4 of 8 blocks, 5 in the end
  s.add({.prompt_len = 20, .max_tokens = 4});  // does not fit beside it
  s.add({.prompt_len = 4, .max_tokens = 4});   // would
  EXPECT_EQ(s.step(), "1:16+");
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s->stats().num_waiting, 2);
}

TEST(SchedulerPlanTest, AdmitsTheNextInTheStepAfterAFinishFreedItsBlocks) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 5});
  s.add({.prompt_len = 16, .max_tokens = 2});
  s.add({.prompt_len = 16, .max_tokens = 2});
  EXPECT_EQ(s.step(), "1:16+");
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.events.back().finish_reason, FinishReason::kLength);
  EXPECT_EQ(s.step(), "2:16+");
}

TEST(SchedulerPlanTest, RunsAtMostMaxNumSeqs) {
  SteppedScheduler s({.max_num_seqs = 2});
  const SeqId first = s.add({.prompt_len = 4, .max_tokens = 2});
  s.add({.prompt_len = 4});
  s.add({.prompt_len = 4});
  EXPECT_EQ(s.step(), "1:4+ 2:4+");
  EXPECT_EQ(s->stats().num_running, 2);
  EXPECT_EQ(s.step(), "1:1+ 2:1+");
  const StepPlan& plan = s.plan();
  EXPECT_EQ(shares(plan), "2:1+ 3:4+");
  ASSERT_THAT(plan.released_slots, SizeIs(1));
  EXPECT_EQ(plan.started[0].state_slot, plan.released_slots[0]) << "of sequence " << first.value();
}

TEST(SchedulerPlanTest, KeepsTheWatermarkFreeWhenAdmitting) {
  // A quarter of 16 blocks stays free: 12 may be taken.
  SteppedScheduler s({.block_size = 4, .num_blocks = 16, .watermark = 0.25f});
  s.add({.prompt_len = 32});  // 8 blocks
  s.add({.prompt_len = 16});  // 4 more reach the watermark
  s.add({.prompt_len = 1});   // one more would pass it
  EXPECT_EQ(s.step(), "1:32+ 2:16+");
  EXPECT_EQ(s->stats().num_waiting, 1);
}

TEST(SchedulerPlanTest, AdmitsALoneSequenceThatPassesTheWatermark) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 16, .watermark = 0.5f});
  s.add({.prompt_len = 60, .max_tokens = 4});
  EXPECT_EQ(s.step(), "1:60+");
}

TEST(SchedulerPlanTest, AdmitsOnlyWhereTheWholePromptFitsNotItsFirstChunkAlone) {
  SteppedScheduler s({.max_num_batched_tokens = 8, .block_size = 4, .num_blocks = 8});
  s.add({.prompt_len = 7, .max_tokens = 8});   // 2 blocks, 4 in the end
  s.add({.prompt_len = 28, .max_tokens = 4});  // 7 blocks: 6 are free
  EXPECT_EQ(s.step(), "1:7+");
  EXPECT_EQ(s.step(), "1:1+");
}

TEST(SchedulerPlanTest, GivesNobodyTheBlocksThatAnIncompletePromptStillNeeds) {
  SteppedScheduler s({.max_num_batched_tokens = 12, .block_size = 4, .num_blocks = 8});
  s.add({.prompt_len = 8});
  s.step();                                    // 2 blocks
  s.add({.prompt_len = 20, .max_tokens = 4});  // 5 blocks, 3 of them in the first chunk
  s.add({.prompt_len = 8});                    // 2 blocks are free, but promised to the one before
  EXPECT_EQ(s.step(), "1:1+ 2:11");
  EXPECT_EQ(s->kv_cache().num_available_blocks(), 2);
  EXPECT_EQ(s.step(4), "1:1+ 2:4");
  EXPECT_EQ(s.step(), "1:1+ 2:5+");
  EXPECT_EQ(s->stats().num_preemptions, 0u);
}

TEST(SchedulerPlanTest, HonoursThePrefillAllowanceBesideDecodes) {
  SteppedScheduler s({.max_num_batched_tokens = 32});
  s.add({.prompt_len = 4});
  s.step();
  s.add({.prompt_len = 10});
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(6), "1:1+ 2:6");
  EXPECT_EQ(s.step(6), "1:1+ 2:4+ 3:2");
  EXPECT_EQ(s.step(0), "1:1+ 2:1+") << "decodes are not bounded";
  EXPECT_EQ(s.step(-5), "1:1+ 2:1+") << "less than nothing is nothing";
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:8+");
}

TEST(SchedulerPlanTest, TreatsTheLastPromptTokenAsTheDecodeThatItCostsLike) {
  SteppedScheduler s({});
  s.add({.prompt_len = 9});
  EXPECT_EQ(s.step(8), "1:8");
  EXPECT_EQ(s.step(0), "1:1+");
}

TEST(SchedulerPlanTest, StartsWholePromptsOnlyWhenChunkedPrefillIsOff) {
  SteppedScheduler s(
      {.max_num_batched_tokens = 20, .max_model_len = 20, .enable_chunked_prefill = false});
  s.add({.prompt_len = 12});
  s.add({.prompt_len = 9});
  s.add({.prompt_len = 2});
  EXPECT_EQ(s.step(), "1:12+") << "8 tokens are left, the second prompt is not cut";
  EXPECT_EQ(s.step(), "1:1+ 2:9+ 3:2+");
}

TEST(SchedulerPlanTest, StartsOneWholePromptPastTheAllowanceWhenChunkedPrefillIsOff) {
  SteppedScheduler s(
      {.max_num_batched_tokens = 20, .max_model_len = 20, .enable_chunked_prefill = false});
  s.add({.prompt_len = 8});
  s.add({.prompt_len = 8});
  EXPECT_EQ(s.step(0), "");
  EXPECT_EQ(s.step(4), "1:8+");
  EXPECT_EQ(s.step(4), "1:1+ 2:8+");
}

TEST(SchedulerPlanTest, ReusesAPlanWithoutATraceOfItsLastContent) {
  auto scheduler = testing::make_scheduler({});
  StepPlan plan;
  scheduler->add(SeqId(1), testing::make_request({.prompt_len = 4, .max_tokens = 1}));
  scheduler->plan(plan);
  std::vector<TokenEvent> events;
  scheduler->apply(plan, testing::one_row(plan.step_id, SeqId(1), 5), events);
  scheduler->plan(plan);
  EXPECT_TRUE(plan.empty());
  EXPECT_THAT(plan.token_ids, IsEmpty());
  EXPECT_THAT(plan.started, IsEmpty());
  EXPECT_THAT(plan.released_slots, SizeIs(1));
  EXPECT_THAT(plan.tables[0].blocks, IsEmpty());
  EXPECT_THAT(plan.tables[0].offsets, ElementsAre(0));
  scheduler->plan(plan);
  EXPECT_THAT(plan.released_slots, IsEmpty());
}

TEST(SchedulerPlanTest, HasWorkUntilTheLastSlotIsReleased) {
  SteppedScheduler s({});
  EXPECT_FALSE(s->has_work());
  s.add({.prompt_len = 4, .max_tokens = 1});
  EXPECT_TRUE(s->has_work());
  s.step();
  EXPECT_TRUE(s->has_work()) << "the executor does not know yet that the slot is free";
  s.step();
  EXPECT_FALSE(s->has_work());
}

TEST(SchedulerPlanTest, PlansNothingWhenThereIsNothing) {
  SteppedScheduler s({});
  EXPECT_EQ(s.step(), "");
  EXPECT_THAT(s.events, IsEmpty());
}

}  // namespace
}  // namespace tvllm::scheduler
