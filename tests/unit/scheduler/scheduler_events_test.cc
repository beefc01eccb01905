// SPDX-License-Identifier: Apache-2.0
// What apply() tells: tokens, ends, errors, cancellations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using ::testing::IsEmpty;
using testing::kEos;
using testing::make_request;
using testing::make_scheduler;
using testing::one_row;
using ::testing::SizeIs;
using testing::SteppedScheduler;

TEST(SchedulerEventsTest, TellsTokensInTheOrderOfThePlan) {
  SteppedScheduler s({});
  s.add({.prompt_len = 3});
  s.add({.prompt_len = 5});
  s.step();
  ASSERT_THAT(s.events, SizeIs(2));
  EXPECT_EQ(s.events[0].seq_id, SeqId(1));
  EXPECT_EQ(s.events[1].seq_id, SeqId(2));
  EXPECT_EQ(s.events[1].token_id, 1000);
  EXPECT_EQ(s.events[1].finish_reason, FinishReason::kNone);
  s.step();
  EXPECT_EQ(s.events[1].token_id, 1001);
}

TEST(SchedulerEventsTest, EndsAtEosWithTheTokenInTheEvent) {
  SteppedScheduler s({});
  const SeqId seq = s.add({.prompt_len = 3});
  s.next_token(seq, kEos);
  s.step();
  ASSERT_THAT(s.events, SizeIs(1));
  EXPECT_EQ(s.events[0].token_id, kEos);
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kStop);
  EXPECT_EQ(s.events[0].stop_token_id, std::nullopt);
  EXPECT_EQ(s->stats().num_running, 0);
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 0);
}

TEST(SchedulerEventsTest, NamesTheStopTokenThatEndedASequence) {
  SteppedScheduler s({});
  const SeqId seq = s.add({.prompt_len = 3, .stop_token_ids = {77}});
  s.next_token(seq, 77);
  s.step();
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kStop);
  EXPECT_EQ(s.events[0].stop_token_id, 77);
}

TEST(SchedulerEventsTest, EndsAtMaxTokensAndAtTheModelsLength) {
  SteppedScheduler s({.max_model_len = 8});
  s.add({.prompt_len = 3, .max_tokens = 2});
  s.add({.prompt_len = 5, .max_tokens = 100});
  s.step();
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kNone);
  s.step();
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ(s.events[1].finish_reason, FinishReason::kNone);
  EXPECT_EQ(s.step(), "2:1+");
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kLength) << "5 + 3 tokens";
  EXPECT_EQ(s->stats().num_generated_tokens, 5u);
}

TEST(SchedulerEventsTest, EndsAFailedSequenceAloneAndSaysWhy) {
  SteppedScheduler s({});
  const SeqId failing = s.add({.prompt_len = 3});
  s.add({.prompt_len = 3});
  s.step();
  s.next_fails(failing);
  s.step();
  ASSERT_THAT(s.events, SizeIs(2));
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kError);
  EXPECT_EQ(s.events[0].token_id, kNoToken);
  EXPECT_EQ(s.events[0].error_message, "the model gave no finite logits after 4 tokens");
  EXPECT_EQ(s.events[1].finish_reason, FinishReason::kNone);
  EXPECT_EQ(s.step(), "2:1+");
}

TEST(SchedulerEventsTest, EndsASequenceThatFailsInTheMiddleOfItsPrompt) {
  SteppedScheduler s({.max_num_batched_tokens = 8});
  const SeqId failing = s.add({.prompt_len = 20});
  s.next_fails(failing);
  EXPECT_EQ(s.step(), "1:8");
  ASSERT_THAT(s.events, SizeIs(1));
  EXPECT_EQ(s.events[0].finish_reason, FinishReason::kError);
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 0);
}

TEST(SchedulerEventsTest, SaysNothingOfAChunkInTheMiddleOfAPrompt) {
  SteppedScheduler s({.max_num_batched_tokens = 8});
  s.add({.prompt_len = 20});
  s.step();
  EXPECT_THAT(s.events, IsEmpty());
}

TEST(SchedulerEventsTest, HandsOnLogprobsOfTokensAndOfThePrompt) {
  auto scheduler = make_scheduler({});
  scheduler->add(SeqId(1), make_request({.prompt_len = 3, .num_prompt_logprobs = 1}));
  StepPlan plan;
  scheduler->plan(plan);
  StepResult result = one_row(plan.step_id, SeqId(1), 5);
  result.sequences[0].has_logprobs = true;
  result.sequences[0].logprobs.token = {.token_id = 5, .logprob = -0.25f, .rank = 1};
  result.sequences[0].prompt_logprobs.resize(2);
  result.sequences[0].prompt_logprobs[1].token.token_id = 102;
  std::vector<TokenEvent> events;
  scheduler->apply(plan, result, events);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_TRUE(events[0].has_logprobs);
  EXPECT_EQ(events[0].logprobs.token.logprob, -0.25f);
  ASSERT_THAT(events[0].prompt_logprobs, SizeIs(2));
  EXPECT_EQ(events[0].prompt_logprobs[1].token.token_id, 102);
}

TEST(SchedulerEventsTest, AppendsToWhatTheCallerHasAlready) {
  auto scheduler = make_scheduler({});
  scheduler->add(SeqId(1), make_request({}));
  scheduler->cancel(SeqId(1));
  StepPlan plan;
  scheduler->plan(plan);
  std::vector<TokenEvent> events(3);
  scheduler->apply(plan, StepResult{}, events);
  EXPECT_THAT(events, SizeIs(4));
}

// The cancelled sequence's last news, and that nothing of it is left.
void expect_aborted(SteppedScheduler& s, SeqId seq_id) {
  ASSERT_FALSE(s.events.empty());
  EXPECT_EQ(s.events.back().seq_id, seq_id);
  EXPECT_EQ(s.events.back().finish_reason, FinishReason::kAbort);
  EXPECT_EQ(s.events.back().token_id, kNoToken);
  EXPECT_EQ(s.num_blocks_of(seq_id), 0);
}

TEST(SchedulerCancelTest, EndsASequenceThatWaits) {
  SteppedScheduler s({});
  const SeqId seq = s.add({});
  s.cancel(seq);
  EXPECT_TRUE(s->has_work()) << "its end is to be told";
  EXPECT_EQ(s.step(), "");
  expect_aborted(s, seq);
  EXPECT_FALSE(s->has_work());
}

TEST(SchedulerCancelTest, EndsASequenceInTheMiddleOfItsPrompt) {
  SteppedScheduler s({.max_num_batched_tokens = 8});
  const SeqId seq = s.add({.prompt_len = 20});
  s.step();
  s.cancel(seq);
  EXPECT_EQ(s->kv_cache().num_used_blocks(), 0);
  EXPECT_EQ(s.step(), "");
  expect_aborted(s, seq);
}

TEST(SchedulerCancelTest, EndsASequenceThatDecodesAndLeavesOthersAlone) {
  SteppedScheduler s({});
  const SeqId seq = s.add({});
  s.add({});
  s.step();
  s.step();
  s.cancel(seq);
  EXPECT_EQ(s.step(), "2:1+");
  ASSERT_THAT(s.events, SizeIs(2));
  EXPECT_EQ(s.events[0].token_id, 1002);
  expect_aborted(s, seq);
}

TEST(SchedulerCancelTest, EndsAPreemptedSequence) {
  SteppedScheduler s({.block_size = 4, .num_blocks = 4});
  s.add({.prompt_len = 7, .max_tokens = 5});
  const SeqId seq = s.add({.prompt_len = 7, .max_tokens = 5});
  s.step();
  s.step();
  s.step();
  ASSERT_EQ(s->stats().num_waiting, 1);
  s.cancel(seq);
  EXPECT_EQ(s->stats().num_waiting, 0);
  EXPECT_EQ(s.step(), "1:1+");
  expect_aborted(s, seq);
}

TEST(SchedulerCancelTest, IsHarmlessForFinishedUnknownAndTwiceCancelledSequences) {
  SteppedScheduler s({});
  const SeqId finished = s.add({.max_tokens = 1});
  const SeqId cancelled = s.add({});
  s.step();
  s.cancel(finished);
  s.cancel(SeqId(99));
  s.cancel(cancelled);
  s.cancel(cancelled);
  s.step();
  EXPECT_THAT(s.events, SizeIs(1));
  expect_aborted(s, cancelled);
}

TEST(SchedulerCancelTest, GivesTheStateSlotToTheNextInLine) {
  SteppedScheduler s({.max_num_seqs = 1});
  const SeqId first = s.add({});
  s.add({});
  s.step();
  s.cancel(first);
  EXPECT_EQ(s.step(), "2:4+");
}

TEST(SchedulerEventsDeathTest, StopsAtAnAnswerThatIsNotThatOfThePlan) {
  auto scheduler = make_scheduler({});
  scheduler->add(SeqId(1), make_request({}));
  StepPlan plan;
  scheduler->plan(plan);
  std::vector<TokenEvent> events;
  const auto apply = [&](const StepResult& result) { scheduler->apply(plan, result, events); };
  EXPECT_DEATH(apply(StepResult{}), "plans 1 sequences, answered are 0");
  EXPECT_DEATH(apply(one_row(77, SeqId(1), 5)), "is answered with step 77");
  EXPECT_DEATH(apply(one_row(plan.step_id, SeqId(2), 5)), "row 0 is not that of sequence 1");
  EXPECT_DEATH(apply(one_row(plan.step_id, SeqId(1), kNoToken)), "was to get a token");
}

}  // namespace
}  // namespace tvllm::scheduler
