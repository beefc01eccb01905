// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler_options.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/make_scheduler.h"

namespace tvllm::scheduler {
namespace {

using testing::SchedulerSpec;

// The option that is refused; empty if none is.
std::string refused(const SchedulerSpec& spec) {
  const Status status = check_scheduler_options(spec.options());
  return status ? "" : status.error().param;
}

TEST(SchedulerOptionsTest, AcceptsTheEdgesOfEachRange) {
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({.max_num_seqs = 1, .max_num_batched_tokens = 1}), "");
  EXPECT_EQ(refused({.max_model_len = 2}), "");
  EXPECT_EQ(refused({.block_size = 4}), "");
  EXPECT_EQ(refused({.block_size = 128}), "");
  EXPECT_EQ(refused({.num_kv_groups = 3, .num_blocks = 3}), "");
  EXPECT_EQ(refused({.num_kv_groups = 3, .kv_windows = {0, 1, 8}}), "");
  EXPECT_EQ(refused({.watermark = 0.0f}), "");
  EXPECT_EQ(refused({.watermark = 0.99f}), "");
  EXPECT_EQ(
      refused({.max_num_batched_tokens = 64, .max_model_len = 64, .enable_chunked_prefill = false}),
      "");
}

TEST(SchedulerOptionsTest, RefusesOnePastEachEdgeAndNamesTheOption) {
  EXPECT_EQ(refused({.max_num_seqs = 0}), "max_num_seqs");
  EXPECT_EQ(refused({.max_num_seqs = -1}), "max_num_seqs");
  EXPECT_EQ(refused({.max_num_seqs = 8, .max_num_batched_tokens = 7}), "max_num_batched_tokens");
  EXPECT_EQ(refused({.max_model_len = 1}), "max_model_len");
  EXPECT_EQ(refused({.num_kv_groups = 0}), "num_kv_groups");
  EXPECT_EQ(refused({.block_size = 2}), "block_size");
  EXPECT_EQ(refused({.block_size = 12}), "block_size");
  EXPECT_EQ(refused({.block_size = 256}), "block_size");
  EXPECT_EQ(refused({.block_size = -16}), "block_size");
  EXPECT_EQ(refused({.num_blocks = 0}), "num_blocks");
  EXPECT_EQ(refused({.num_kv_groups = 3, .num_blocks = 2}), "num_blocks");
  EXPECT_EQ(refused({.num_kv_groups = 2, .kv_windows = {0}}), "kv_windows");
  EXPECT_EQ(refused({.num_kv_groups = 2, .kv_windows = {8, 8}}), "kv_windows");
  EXPECT_EQ(refused({.num_kv_groups = 2, .kv_windows = {0, -1}}), "kv_windows");
  EXPECT_EQ(refused({.watermark = -0.01f}), "watermark");
  EXPECT_EQ(refused({.watermark = 1.0f}), "watermark");
  EXPECT_EQ(refused({.watermark = std::numeric_limits<float>::quiet_NaN()}), "watermark");
  EXPECT_EQ(
      refused({.max_num_batched_tokens = 63, .max_model_len = 64, .enable_chunked_prefill = false}),
      "max_num_batched_tokens");
}

TEST(SchedulerOptionsTest, SaysWhatWasExpectedAndWhatWasFound) {
  const Status status = check_scheduler_options(SchedulerSpec{.block_size = 12}.options());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "block_size must be a power of two from 4 to 128, got 12");
}

}  // namespace
}  // namespace tvllm::scheduler
