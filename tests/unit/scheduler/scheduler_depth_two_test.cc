// SPDX-License-Identifier: Apache-2.0
// A plan is made while the one before it is still being computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kEos;
using testing::shares;
using ::testing::SizeIs;
using testing::SteppedScheduler;

TEST(SchedulerDepthTwoTest, PlansADecodeBeforeItsTokenIsKnown) {
  SteppedScheduler s({});
  s.add({.prompt_len = 4});
  EXPECT_EQ(shares(s.plan()), "1:4+");
  const StepPlan& second = s.plan();
  EXPECT_EQ(shares(second), "1:1+");
  EXPECT_THAT(second.token_ids, ElementsAre(kNoToken));
  EXPECT_EQ(second.sequences[0].num_computed_tokens, 4);
  EXPECT_EQ(second.sequences[0].output_idx, 1);

  EXPECT_EQ(s.apply()[0].token_id, 1000);
  const StepPlan& third = s.plan();
  EXPECT_THAT(third.token_ids, ElementsAre(kNoToken));
  EXPECT_EQ(third.sequences[0].num_computed_tokens, 5);
  EXPECT_EQ(third.sequences[0].output_idx, 2);
  EXPECT_EQ(s.apply()[0].token_id, 1001);
  EXPECT_EQ(s.apply()[0].token_id, 1002);
  EXPECT_THAT(s.plan().token_ids, ElementsAre(1002)) << "nothing is in flight any more";
}

TEST(SchedulerDepthTwoTest, PlansTheNextChunkWhileTheLastIsInFlight) {
  SteppedScheduler s({.max_num_batched_tokens = 8});
  s.add({.prompt_len = 20});
  EXPECT_EQ(shares(s.plan()), "1:8");
  EXPECT_EQ(shares(s.plan()), "1:8");
  EXPECT_THAT(s.apply(), IsEmpty());
  EXPECT_EQ(shares(s.plan()), "1:4+");
}

TEST(SchedulerDepthTwoTest, PlansNoTokenBeyondTheOneThatCertainlyEndsTheSequence) {
  SteppedScheduler s({});
  s.add({.prompt_len = 4, .max_tokens = 2});
  EXPECT_EQ(shares(s.plan()), "1:4+");
  EXPECT_EQ(shares(s.plan()), "1:1+");
  s.apply();
  EXPECT_EQ(shares(s.plan()), "");
  EXPECT_EQ(s.apply()[0].finish_reason, FinishReason::kLength);
}

TEST(SchedulerDepthTwoTest, PlansNoTokenBeyondTheModelsLength) {
  SteppedScheduler s({.max_model_len = 6});
  s.add({.prompt_len = 4, .max_tokens = 100});
  EXPECT_EQ(shares(s.plan()), "1:4+");
  EXPECT_EQ(shares(s.plan()), "1:1+");
  EXPECT_EQ(shares(s.plan()), "");
}

TEST(SchedulerDepthTwoTest, IgnoresTheRowComputedAfterAnEosAndHoldsItsBlocksUntilThen) {
  SteppedScheduler s({.max_num_seqs = 1});
  const SeqId seq = s.add({.prompt_len = 4});
  s.add({.prompt_len = 4});
  s.next_token(seq, kEos);
  s.plan();
  s.plan();
  EXPECT_EQ(s.apply()[0].finish_reason, FinishReason::kStop);
  EXPECT_EQ(s.num_blocks_of(seq), 2) << "the second step still writes to them";
  EXPECT_EQ(s->stats().num_running, 0);
  EXPECT_EQ(shares(s.plan()), "") << "its state slot is the only one";

  EXPECT_THAT(s.apply(), IsEmpty());
  EXPECT_EQ(s.num_blocks_of(seq), 0);
  s.apply();
  const StepPlan& plan = s.plan();
  EXPECT_EQ(shares(plan), "2:4+");
  EXPECT_THAT(plan.released_slots, ElementsAre(StateSlot(0)));
}

TEST(SchedulerDepthTwoTest, TellsOfACancellationAtOnceAndHoldsBlocksUntilTheLastStepIsBack) {
  SteppedScheduler s({});
  const SeqId seq = s.add({.prompt_len = 4});
  s.plan();
  s.plan();
  s.cancel(seq);
  EXPECT_EQ(s.num_blocks_of(seq), 2);
  const auto events = s.apply();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].finish_reason, FinishReason::kAbort);
  EXPECT_EQ(s.num_blocks_of(seq), 2);
  EXPECT_THAT(s.apply(), IsEmpty());
  EXPECT_EQ(s.num_blocks_of(seq), 0);
}

TEST(SchedulerDepthTwoTest, CancelsAZombieWithoutASecondEnd) {
  SteppedScheduler s({});
  const SeqId seq = s.add({.prompt_len = 4});
  s.next_token(seq, kEos);
  s.plan();
  s.plan();
  EXPECT_THAT(s.apply(), SizeIs(1));
  s.cancel(seq);
  EXPECT_THAT(s.apply(), IsEmpty());
}

TEST(SchedulerDepthTwoTest, EndsAFailedSequenceAndIgnoresItsNextRow) {
  SteppedScheduler s({});
  const SeqId seq = s.add({.prompt_len = 4});
  s.next_fails(seq);
  s.plan();
  s.plan();
  EXPECT_EQ(s.apply()[0].finish_reason, FinishReason::kError);
  EXPECT_THAT(s.apply(), IsEmpty());
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 0);
}

// Three sequences of two full blocks each, their second step in flight: whoever goes on needs a
// block, and none is free.
struct FullHouseInFlight {
  SteppedScheduler s{{.block_size = 4, .num_blocks = 6}};
  FullHouseInFlight() {
    for (int i = 0; i < 3; ++i) {
      s.add({.prompt_len = 7, .max_tokens = 5});
    }
    EXPECT_EQ(shares(s.plan()), "1:7+ 2:7+ 3:7+");
    EXPECT_EQ(shares(s.plan()), "1:1+ 2:1+ 3:1+");
    s.apply();
  }
};

TEST(SchedulerDepthTwoTest, PreemptsOneVictimWhoseBlocksComeLaterAndNotEverybody) {
  FullHouseInFlight f;
  EXPECT_EQ(shares(f.s.plan()), "") << "two wait for the blocks of the third";
  EXPECT_EQ(f.s->stats().num_preemptions, 1u);
  EXPECT_EQ(f.s.num_blocks_of(SeqId(3)), 2) << "a submitted step still writes to them";
  EXPECT_EQ(f.s->stats().num_running, 2);
  EXPECT_THAT(f.s.apply(), SizeIs(3)) << "the victim's token in flight counts";
  f.s.apply();
  EXPECT_EQ(f.s.num_blocks_of(SeqId(3)), 0);
  EXPECT_EQ(shares(f.s.plan()), "1:1+ 2:1+");
}

TEST(SchedulerDepthTwoTest, PromisesTheBlocksOfOneVictimOnce) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 5});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.add({.prompt_len = 2, .max_tokens = 5});
  EXPECT_EQ(shares(s.plan()), "1:7+ 2:7+ 3:2+");
  EXPECT_EQ(shares(s.plan()), "1:1+ 2:1+ 3:1+");
  s.apply();
  EXPECT_EQ(shares(s.plan()), "");
  // The third has one block, which is for the first; so the second gives way itself.
  EXPECT_EQ(s->stats().num_preemptions, 2u);
  EXPECT_EQ(s->stats().num_running, 1);
}

TEST(SchedulerDepthTwoTest, AdmitsAVictimAgainOnlyWhenNoStepNamesIt) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 8});
  s.add({.prompt_len = 7, .max_tokens = 9});
  s.add({.prompt_len = 15, .max_tokens = 1});
  s.add({.prompt_len = 7, .max_tokens = 9});
  EXPECT_EQ(shares(s.plan()), "1:7+ 2:15+ 3:7+");
  EXPECT_EQ(shares(s.plan()), "1:1+ 3:1+");
  EXPECT_EQ(shares(s.plan()), "") << "the third is preempted and named by two steps";
  s.apply();  // the second ends and frees four blocks
  EXPECT_EQ(s->kv_cache().num_available_blocks(), 4);
  EXPECT_EQ(shares(s.plan()), "1:1+") << "the third would fit, but one step still names it";
  s.apply();
  EXPECT_EQ(shares(s.plan()), "1:1+ 3:9+");
}

TEST(SchedulerDepthTwoTest, ResumesAVictimWithTheTokensThatWereInFlight) {
  FullHouseInFlight f;
  f.s.plan();
  f.s.apply();
  f.s.apply();
  f.s.cancel(SeqId(1));
  f.s.cancel(SeqId(2));
  const StepPlan& plan = f.s.plan();
  EXPECT_EQ(shares(plan), "3:9+");
  EXPECT_EQ(plan.started[0].known_token_ids.back(), 1001);
  EXPECT_EQ(plan.sequences[0].output_idx, 2);
}

TEST(SchedulerDepthTwoTest, EndsAVictimWhoseTokenInFlightIsItsLast) {
  FullHouseInFlight f;
  f.s.plan();
  f.s.next_token(SeqId(3), kEos);
  const auto events = f.s.apply();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[2].finish_reason, FinishReason::kStop);
  EXPECT_EQ(f.s->stats().num_waiting, 0);
  EXPECT_EQ(f.s.num_blocks_of(SeqId(3)), 0);
}

TEST(SchedulerDepthTwoTest, CancelsAVictimThatIsStillInFlight) {
  FullHouseInFlight f;
  f.s.plan();
  f.s.cancel(SeqId(3));
  EXPECT_EQ(f.s.num_blocks_of(SeqId(3)), 2);
  EXPECT_THAT(f.s.apply(), SizeIs(3));
  EXPECT_EQ(f.s.num_blocks_of(SeqId(3)), 0);
}

TEST(SchedulerDepthTwoTest, WaitsForBlocksOfAFinishedSequenceInsteadOfPreempting) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.add({.prompt_len = 7, .max_tokens = 5});
  s.next_token(SeqId(2), kEos);
  s.plan();
  s.plan();
  s.apply();  // the second sequence ended, its row in the second step is still being computed
  EXPECT_EQ(shares(s.plan()), "");
  EXPECT_EQ(s->stats().num_preemptions, 0u);
  s.apply();
  s.apply();
  EXPECT_EQ(shares(s.plan()), "1:1+");
}

TEST(SchedulerDepthTwoTest, AdmitsNobodyIntoBlocksThatAreStillHeld) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 12, .max_tokens = 4});
  s.add({.prompt_len = 12, .max_tokens = 4});
  s.next_token(SeqId(1), kEos);
  s.plan();
  s.plan();
  s.apply();
  EXPECT_EQ(shares(s.plan()), "");
  s.apply();
  s.apply();
  EXPECT_EQ(shares(s.plan()), "2:12+");
}

TEST(SchedulerDepthTwoTest, RollsBackAPlannedVictimThatIsInFlightToo) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4, .policy = SchedulingPolicy::kPriority});
  s.add({.prompt_len = 5, .priority = 9});
  s.plan();
  s.apply();
  s.add({.prompt_len = 8, .priority = 0});
  EXPECT_EQ(shares(s.plan()), "1:1+ 2:8+");
  const StepPlan& plan = s.plan();  // the first gets its share, loses it, and leaves after its step
  EXPECT_EQ(shares(plan), "");
  EXPECT_THAT(plan.token_ids, IsEmpty());
  EXPECT_EQ(s.num_blocks_of(SeqId(1)), 2);
  EXPECT_THAT(s.apply(), SizeIs(2));
  EXPECT_EQ(s.num_blocks_of(SeqId(1)), 0);
  s.apply();
  EXPECT_EQ(shares(s.plan()), "2:1+");
}

TEST(SchedulerDepthTwoDeathTest, StopsAtPlansAppliedOutOfOrder) {
  auto scheduler = testing::make_scheduler({});
  scheduler->add(SeqId(1), testing::make_request({}));
  StepPlan first, second;
  scheduler->plan(first);
  scheduler->plan(second);
  std::vector<TokenEvent> events;
  EXPECT_DEATH(scheduler->apply(second, testing::one_row(second.step_id, SeqId(1), 5), events),
               "sequence 1 has 0 outputs and is given number 1");
}

}  // namespace
}  // namespace tvllm::scheduler
