// SPDX-License-Identifier: Apache-2.0
// What the scheduler makes of the prefix index. That no sequence ever reads a wrong block is for
// tests/sim to show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_engine.h"

namespace tvllm::scheduler {
namespace {

using testing::make_request;
using testing::RequestSpec;
using testing::SchedulerSpec;
using testing::shares;
using testing::SteppedScheduler;

SchedulerSpec cached(std::int32_t num_blocks) {
  return {.block_size = 4, .num_blocks = num_blocks, .enable_prefix_caching = true};
}

TEST(SchedulerPrefixTest, ALaterSequenceComputesOnlyWhatItDoesNotShare) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "1:10+");
  s.add({.prompt_len = 10});
  const StepPlan& plan = s.plan();
  EXPECT_EQ(shares(plan), "1:1+ 2:2+");
  EXPECT_EQ(plan.sequences[1].num_computed_tokens, 8);
  EXPECT_EQ(plan.tables[0].of(0)[1], plan.tables[0].of(1)[1]);
  EXPECT_NE(plan.tables[0].of(0)[2], plan.tables[0].of(1)[2]);
  s.apply();
}

TEST(SchedulerPrefixTest, AnEqualPromptOfFullBlocksComputesItsLastBlock) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 8});
  s.step();
  s.add({.prompt_len = 8});
  EXPECT_EQ(s.step(), "1:1+ 2:4+");
}

TEST(SchedulerPrefixTest, NobodyIsAdmittedBesideAnIncompletePromptHoweverLittleHeLacks) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 8, .max_tokens = 1});
  s.step();
  s.add({.prompt_len = 20, .first_token = 500});
  s.add({.prompt_len = 9});
  EXPECT_EQ(s.step(12), "2:12")
      << "the third lacks one token, the second's last blocks are not taken";
  EXPECT_EQ(s.step(12), "2:8+ 3:1+");
}

TEST(SchedulerPrefixTest, TellsTheHitWithTheFirstTokenAndInTheStats) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10, .max_tokens = 3});
  s.step();
  EXPECT_EQ(s.events[0].num_cached_tokens, 0);
  s.add({.prompt_len = 10, .max_tokens = 2});
  s.step();
  EXPECT_EQ(s.events[0].num_cached_tokens, 0);
  EXPECT_EQ(s.events[1].num_cached_tokens, 8);
  s.step();
  EXPECT_EQ(s.events[1].num_cached_tokens, 0) << "told once";
  EXPECT_EQ(s->stats().num_prefix_queries, 20u);
  EXPECT_EQ(s->stats().num_prefix_hits, 8u);
  EXPECT_EQ(s->stats().num_prompt_tokens, 20u) << "hit tokens are taken in as well";
  EXPECT_EQ(s->stats().num_used_blocks, 0);
  EXPECT_EQ(s->stats().num_cached_blocks, 3) << "12 computed tokens; two of the blocks were shared";
}

TEST(SchedulerPrefixTest, SiblingsOfOneStepComputeAlone) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10});
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "1:10+ 2:10+");
}

TEST(SchedulerPrefixTest, AConversationsNextTurnHitsTheAnswerToo) {
  SteppedScheduler s(cached(16));
  // Tokens 100 .. 105 and the answer 106 .. 112, of which the last is never computed.
  const SeqId first = s.add({.prompt_len = 6, .max_tokens = 7});
  for (TokenId token = 106; token <= 112; ++token) {
    s.next_token(first, token);
    s.step();
  }
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kLength);
  s.add({.prompt_len = 20});
  EXPECT_EQ(s.step(), "2:8+") << "12 of 20 tokens are there";
}

TEST(SchedulerPrefixTest, BlocksCanBeHitOnceTheirStepIsApplied) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10});
  s.plan();
  s.add({.prompt_len = 10});
  EXPECT_EQ(shares(s.plan()), "1:1+ 2:10+");
  s.apply();
  s.add({.prompt_len = 10});
  EXPECT_EQ(shares(s.plan()), "1:1+ 2:1+ 3:2+");
  s.apply();
  s.apply();
}

TEST(SchedulerPrefixTest, ChunksOfAnUnfinishedPromptCanBeHit) {
  SteppedScheduler s({.max_num_seqs = 4,
                      .max_num_batched_tokens = 12,
                      .block_size = 4,
                      .num_blocks = 16,
                      .enable_prefix_caching = true});
  s.add({.prompt_len = 14});
  s.add({.prompt_len = 14});
  EXPECT_EQ(s.step(), "1:12");
  EXPECT_EQ(s.step(), "1:2+ 2:2+");
}

TEST(SchedulerPrefixTest, ASequenceWithoutValidLogitsSharesNothing) {
  SteppedScheduler s(cached(16));
  const SeqId bad = s.add({.prompt_len = 10});
  s.next_fails(bad);
  s.step();
  EXPECT_EQ(s->stats().num_cached_blocks, 0);
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "2:10+");
}

TEST(SchedulerPrefixTest, ALateFailureTakesBackWhatWasIndexedBefore) {
  SteppedScheduler s(cached(16));
  const SeqId bad = s.add({.prompt_len = 10});
  s.step();
  s.next_fails(bad);
  s.step();
  EXPECT_EQ(s->stats().num_cached_blocks, 0);
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "2:10+");
}

TEST(SchedulerPrefixTest, AFailureOfOneThatWasCancelledMeanwhileIsNotSharedEither) {
  SteppedScheduler s(cached(16));
  const SeqId bad = s.add({.prompt_len = 10});
  s.step();
  s.next_fails(bad);
  s.plan();
  s.cancel(bad);
  s.apply();
  EXPECT_EQ(s->stats().num_cached_blocks, 0);
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "2:10+");
}

TEST(SchedulerPrefixTest, PromptLogprobsReadNothingButAreRead) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10});
  s.step();
  s.add({.prompt_len = 14, .num_prompt_logprobs = 0});
  EXPECT_EQ(s.step(), "1:1+ 2:14+");
  s.add({.prompt_len = 14});
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:2+");
  EXPECT_EQ(s->stats().num_prefix_queries, 24u) << "the reader of logprobs asked nothing";
}

TEST(SchedulerPrefixTest, ASaltSharesWithItselfAlone) {
  SteppedScheduler s(cached(32));
  s.add({.prompt_len = 10, .cache_salt = "red"});
  s.step();
  s.add({.prompt_len = 10, .cache_salt = "blue"});
  s.add({.prompt_len = 10});
  s.add({.prompt_len = 10, .cache_salt = "red"});
  EXPECT_EQ(s.step(), "1:1+ 2:10+ 3:10+ 4:2+");
}

TEST(SchedulerPrefixTest, SwitchedOffEverythingIsComputed) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 16, .enable_prefix_caching = false});
  s.add({.prompt_len = 10});
  s.step();
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "1:1+ 2:10+");
  EXPECT_EQ(s->stats().num_prefix_queries, 0u);
}

TEST(SchedulerPrefixTest, AResetMakesNewcomersComputeAll) {
  SteppedScheduler s(cached(16));
  s.add({.prompt_len = 10, .max_tokens = 1});
  s.step();
  EXPECT_EQ(s->stats().num_cached_blocks, 2);
  s->reset_prefix_cache();
  EXPECT_EQ(s->stats().num_cached_blocks, 0);
  s.add({.prompt_len = 10});
  EXPECT_EQ(s.step(), "2:10+");
}

TEST(SchedulerPrefixTest, AHitOnABlockInUseCostsNoRoomAndACachedOneDoes) {
  // The first holds 3 of 5 blocks. The second needs 3: two of the first's and one more.
  SteppedScheduler shared(cached(5));
  shared.add({.prompt_len = 10, .max_tokens = 2});
  shared.step();
  shared.add({.prompt_len = 10, .max_tokens = 2});
  EXPECT_EQ(shared.step(), "1:1+ 2:2+");

  // Now nobody holds the two, so all three come out of the queue. Another sequence has the rest.
  SteppedScheduler cold(cached(5));
  cold.add({.prompt_len = 10, .max_tokens = 1});
  cold.step();
  cold.add({.prompt_len = 9, .max_tokens = 3, .first_token = 500});
  EXPECT_EQ(cold.step(), "2:9+");
  cold.add({.prompt_len = 10, .max_tokens = 2});
  EXPECT_EQ(cold.step(), "2:1+") << "two blocks are left in the queue, three are needed";
}

TEST(SchedulerPrefixTest, AVictimComesBackWithWhatIsLeftOfItsBlocks) {
  // 6 blocks of 4. Both have 9 tokens, nothing in common: 3 blocks each.
  SteppedScheduler s(cached(6));
  s.add({.prompt_len = 9, .max_tokens = 6});
  s.add({.prompt_len = 9, .max_tokens = 6, .first_token = 500});
  EXPECT_EQ(s.step(), "1:9+ 2:9+");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(s.step(), "1:1+ 2:1+");
  // 13 tokens need a fourth block: the second gives way, its third block goes first.
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s->stats().num_preemptions, 1u);
  EXPECT_EQ(s->stats().num_cached_blocks, 2);
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kLength);
  const StepPlan& plan = s.plan();
  EXPECT_EQ(shares(plan), "2:5+") << "8 of 13 known tokens are there";
  EXPECT_EQ(plan.sequences[0].num_computed_tokens, 8);
  EXPECT_EQ(plan.sequences[0].output_idx, 4);
  EXPECT_EQ(s.apply()[0].num_cached_tokens, 0) << "a resumed sequence tells no hit";
  EXPECT_EQ(s->stats().num_prefix_queries, 18u);
  EXPECT_EQ(s->stats().num_prefix_hits, 0u);
  EXPECT_EQ(s->stats().num_resumed_prefix_queries, 13u);
  EXPECT_EQ(s->stats().num_resumed_prefix_hits, 8u);
  EXPECT_EQ(s->stats().num_prompt_tokens, 18u) << "a recomputation counts nothing again";
}

TEST(SchedulerPrefixTest, AVictimIsAskedAlsoWhenAllItsFullBlocksAreShared) {
  // Block 1 and 2 are common; each of the three has one more.
  SteppedScheduler s({.block_size = 4, .num_blocks = 5, .enable_prefix_caching = true});
  s.add({.prompt_len = 9, .max_tokens = 8});
  EXPECT_EQ(s.step(), "1:9+");
  s.add({.prompt_len = 9, .max_tokens = 8});
  s.add({.prompt_len = 9, .max_tokens = 8});
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+");
  EXPECT_EQ(s->stats().num_used_blocks, 5);
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+");
  EXPECT_EQ(s.step(), "1:1+ 2:1+ 3:1+");
  // The first needs a fourth block. The third gives one back: its own, not the common ones.
  EXPECT_EQ(s.step(), "1:1+ 2:1+");
  EXPECT_EQ(s->stats().num_preemptions, 1u);
  EXPECT_EQ(s->stats().num_used_blocks, 5);
  EXPECT_EQ(s->kv_cache().num_available_blocks(), 0);
  // Then the second needs one as well, and only itself comes last.
  EXPECT_EQ(s.step(), "1:1+");
  EXPECT_EQ(s->stats().num_preemptions, 2u);
  EXPECT_EQ(s->stats().num_used_blocks, 4);
}

TEST(SchedulerPrefixTest, EndsWhateverIsCancelledWhileItsBlocksAreSharedAndEvicted) {
  SteppedScheduler s(cached(6));
  const SeqId first = s.add({.prompt_len = 9, .max_tokens = 12});
  s.step();
  const SeqId second = s.add({.prompt_len = 9, .max_tokens = 12});
  EXPECT_EQ(s.step(), "1:1+ 2:1+");
  s.cancel(first);
  EXPECT_EQ(s->stats().num_used_blocks, 3) << "the second still holds the common blocks";
  s.step();
  s.cancel(second);
  EXPECT_EQ(s->stats().num_used_blocks, 0);
  EXPECT_EQ(s->stats().num_cached_blocks, 2);
  s.add({.prompt_len = 20, .max_tokens = 1, .first_token = 500});
  EXPECT_EQ(s.step(), "3:20+") << "evicts the second common block";
  s.add({.prompt_len = 9, .max_tokens = 1});
  EXPECT_EQ(s.step(), "4:5+");
  EXPECT_EQ(s->stats().num_used_blocks, 0);
}

TEST(SchedulerPrefixTest, AVictimInFlightLeavesWhatItComputedForItsReturn) {
  SteppedScheduler s(cached(6));
  s.add({.prompt_len = 8, .max_tokens = 7});
  s.add({.prompt_len = 8, .max_tokens = 7, .first_token = 500});
  s.plan();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(shares(s.plan()), "1:1+ 2:1+");
    s.apply();
  }
  // The first needs a fourth block. The second gives way with a step in flight, in which it fills
  // its third block.
  EXPECT_EQ(shares(s.plan()), "");
  EXPECT_EQ(s->stats().num_preemptions, 1u);
  s.apply();
  EXPECT_EQ(s->stats().num_cached_blocks, 3) << "indexed at its last apply, then released";
}

TEST(SchedulerPrefixTest, AFailureWithAStepInFlightSharesNothingLater) {
  SteppedScheduler s(cached(16));
  const SeqId bad = s.add({.prompt_len = 11, .max_tokens = 8});
  s.next_fails(bad);
  s.plan();
  s.plan();
  s.apply();
  EXPECT_EQ(s->stats().num_used_blocks, 3) << "the second step still names them";
  s.add({.prompt_len = 11});
  EXPECT_EQ(shares(s.plan()), "2:11+");
  s.apply();
  EXPECT_EQ(s->stats().num_cached_blocks, 0);
  s.apply();
}

}  // namespace
}  // namespace tvllm::scheduler
