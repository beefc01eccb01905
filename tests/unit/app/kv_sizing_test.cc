// SPDX-License-Identifier: Apache-2.0
#include "app/kv_sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvllm::app {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBlockBytes = 1000;

TEST(KvSizingTest, GivesAllMemoryButTheNullBlock) {
  const Result<KvSizing> sizing = size_kv_cache({.block_size = 16}, kBlockBytes, 11'999, 64);
  ASSERT_TRUE(sizing.has_value());
  EXPECT_EQ(sizing->num_blocks, 10);
  EXPECT_EQ(sizing->max_model_len, 64);
  EXPECT_FALSE(sizing->lowered);
}

TEST(KvSizingTest, LowersTheLengthToWhatThePoolHolds) {
  const Result<KvSizing> sizing = size_kv_cache({.block_size = 16}, kBlockBytes, 11'000, 8192);
  ASSERT_TRUE(sizing.has_value());
  EXPECT_EQ(sizing->max_model_len, 160);
  EXPECT_TRUE(sizing->lowered);
}

TEST(KvSizingTest, TakesALengthThatFitsExactly) {
  const Result<KvSizing> sizing =
      size_kv_cache({.block_size = 16, .max_model_len = 160}, kBlockBytes, 11'000, 8192);
  ASSERT_TRUE(sizing.has_value());
  EXPECT_EQ(sizing->max_model_len, 160);
  EXPECT_FALSE(sizing->lowered);
}

TEST(KvSizingTest, RefusesALengthThatDoesNotFitAndNamesTheLargest) {
  const Result<KvSizing> sizing =
      size_kv_cache({.block_size = 16, .max_model_len = 161}, kBlockBytes, 11'000, 8192);
  ASSERT_FALSE(sizing.has_value());
  EXPECT_THAT(sizing.error().message, HasSubstr("the largest that fits is 160"));
  EXPECT_EQ(sizing.error().param, "max-model-len");
}

TEST(KvSizingTest, GroupsShareThePoolAndWindowsTakeTheirShareAlone) {
  // 11 blocks of 16 tokens for two groups.
  EXPECT_EQ(size_kv_cache({.block_size = 16}, kBlockBytes, 12'000, 8192, {0, 0})->max_model_len,
            5 * 16);
  // The second group holds at most 15 positions of its window and 2 * 16 in flight, in 4 blocks.
  const Result<KvSizing> sizing = size_kv_cache({.block_size = 16, .max_num_batched_tokens = 16},
                                                kBlockBytes, 12'000, 8192, {0, 16});
  EXPECT_EQ(sizing->max_model_len, 7 * 16);
  EXPECT_TRUE(sizing->lowered);
  const Result<KvSizing> too_few = size_kv_cache({}, kBlockBytes, 2'999, 8192, {0, 16});
  ASSERT_FALSE(too_few.has_value());
  EXPECT_THAT(too_few.error().message, HasSubstr("at least 3 are needed (3000 bytes)"));
  EXPECT_FALSE(size_kv_cache({.num_blocks_override = 1}, kBlockBytes, 0, 8192, {0, 16}));
}

TEST(KvSizingTest, RefusesALengthBeyondTheModel) {
  const Result<KvSizing> sizing =
      size_kv_cache({.max_model_len = 8193}, kBlockBytes, 1'000'000'000, 8192);
  ASSERT_FALSE(sizing.has_value());
  EXPECT_THAT(sizing.error().message, HasSubstr("[2, 8192]"));
}

TEST(KvSizingTest, RefusesMemoryForLessThanOneUsableBlock) {
  const Result<KvSizing> sizing = size_kv_cache({}, kBlockBytes, 1'999, 8192);
  ASSERT_FALSE(sizing.has_value());
  EXPECT_EQ(sizing.error().param, "kv-cache-memory-bytes");
  EXPECT_TRUE(size_kv_cache({}, kBlockBytes, 2'000, 8192).has_value());
}

TEST(KvSizingTest, OverrideCountsUsableBlocksWhateverTheMemory) {
  const Result<KvSizing> sizing = size_kv_cache({.num_blocks_override = 7}, kBlockBytes, 0, 8192);
  ASSERT_TRUE(sizing.has_value());
  EXPECT_EQ(sizing->num_blocks, 7);
  EXPECT_EQ(sizing->max_model_len, 7 * 16);
}

}  // namespace
}  // namespace tvllm::app
