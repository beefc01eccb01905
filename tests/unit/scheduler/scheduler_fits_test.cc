// SPDX-License-Identifier: Apache-2.0
// What the scheduler refuses, at and past each edge.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using testing::make_request;
using testing::make_scheduler;
using testing::RequestSpec;
using testing::SchedulerSpec;

constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

Status check(const SchedulerSpec& spec, const RequestSpec& request) {
  return make_scheduler(spec)->check_fits(*make_request(request));
}

TEST(SchedulerFitsTest, AcceptsAPromptThatLeavesRoomForOneToken) {
  EXPECT_TRUE(check({.max_model_len = 64}, {.prompt_len = 63, .max_tokens = 1}));
  EXPECT_TRUE(check({.max_model_len = 64}, {.prompt_len = 63, .max_tokens = 5}));
}

TEST(SchedulerFitsTest, RefusesAPromptThatFillsTheModelsLength) {
  const Status status = check({.max_model_len = 64}, {.prompt_len = 64, .max_tokens = 1});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kContextLength);
  EXPECT_EQ(status.error().param, "prompt");
  EXPECT_EQ(status.error().message,
            "the prompt has 64 tokens and leaves no room for an output: the context of prompt and "
            "output is at most 64 tokens");
}

TEST(SchedulerFitsTest, RefusesWhatNeedsMoreBlocksThanThereAre) {
  const SchedulerSpec pool{.max_model_len = 64, .block_size = 4, .num_blocks = 8};  // 32 tokens
  EXPECT_TRUE(check(pool, {.prompt_len = 20, .max_tokens = 12}));
  const Status status = check(pool, {.prompt_len = 20, .max_tokens = 13});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kContextLength);
  EXPECT_EQ(status.error().message,
            "the request needs a context of 33 tokens (20 of its prompt), the KV cache holds 32");
  EXPECT_FALSE(check(pool, {.prompt_len = 40, .max_tokens = 1}));
}

TEST(SchedulerFitsTest, CountsTheBlocksOfEveryKvGroup) {
  const SchedulerSpec pool{.num_kv_groups = 2, .block_size = 4, .num_blocks = 8};  // 16 tokens
  EXPECT_TRUE(check(pool, {.prompt_len = 10, .max_tokens = 6}));
  EXPECT_FALSE(check(pool, {.prompt_len = 10, .max_tokens = 7}));
}

TEST(SchedulerFitsTest, AGroupWithAWindowNeedsTheBlocksOfItsWindow) {
  // At most 7 + 2 * 8 positions of the second group: 7 blocks, beside 16 of the first.
  SchedulerSpec pool{.max_num_batched_tokens = 8,
                     .num_kv_groups = 2,
                     .kv_windows = {0, 8},
                     .block_size = 4,
                     .num_blocks = 23};
  EXPECT_TRUE(check(pool, {.prompt_len = 60, .max_tokens = 4}));
  pool.num_blocks = 22;
  EXPECT_FALSE(check(pool, {.prompt_len = 60, .max_tokens = 4}));
}

TEST(SchedulerFitsTest, ALongPromptRunsInAPoolThatWouldNotHoldItTwice) {
  testing::SteppedScheduler s({.max_num_batched_tokens = 8,
                               .num_kv_groups = 2,
                               .kv_windows = {0, 8},
                               .block_size = 4,
                               .num_blocks = 23});
  const SeqId seq_id = s.add({.prompt_len = 60, .max_tokens = 4, .ignore_eos = true});
  for (int step = 0; step < 8; ++step)
    EXPECT_NE(s.step(), "");
  EXPECT_EQ(s->stats().num_preemptions, 0u);
  const auto table = s->kv_cache().block_table(seq_id, 1);
  EXPECT_EQ(std::count(table.begin(), table.end(), kNullBlock),
            13);  // the next token sees 53 .. 60
  while (s->has_work())
    s.step();
  EXPECT_EQ(s->stats().num_generated_tokens, 4u);
  EXPECT_EQ(s->stats().num_used_blocks, 0);
}

TEST(SchedulerFitsTest, BoundsMaxTokensByTheModelsLengthWithoutOverflow) {
  EXPECT_TRUE(check({.max_model_len = 64}, {.prompt_len = 10, .max_tokens = kMaxInt}));
  EXPECT_FALSE(check({.max_model_len = kMaxInt}, {.prompt_len = 10, .max_tokens = kMaxInt}));
}

TEST(SchedulerFitsTest, RefusesAnEmptyPromptAndMaxTokensBelowOne) {
  const Status empty = check({}, {.prompt_len = 0});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(empty.error().param, "prompt");
  const Status none = check({}, {.max_tokens = 0});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().param, "max_tokens");
  EXPECT_FALSE(check({}, {.max_tokens = -1}));
}

TEST(SchedulerFitsDeathTest, StopsAtARequestThatWasNeverAskedWhetherItFits) {
  const auto scheduler = make_scheduler({.num_blocks = 2});
  EXPECT_DEATH(scheduler->add(SeqId(1), make_request({.prompt_len = 60})), "can never fit");
}

TEST(SchedulerFitsDeathTest, StopsAtAnIdThatIsInUse) {
  const auto scheduler = make_scheduler({});
  scheduler->add(SeqId(1), make_request({}));
  EXPECT_DEATH(scheduler->add(SeqId(1), make_request({})), "sequence 1 exists already");
}

}  // namespace
}  // namespace tvllm::scheduler
