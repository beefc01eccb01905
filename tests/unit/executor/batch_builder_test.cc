// SPDX-License-Identifier: Apache-2.0
#include "executor/batch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tvllm::executor {
namespace {

using ::testing::ElementsAre;

std::vector<BlockId> blocks(std::initializer_list<std::int32_t> ids) {
  std::vector<BlockId> out;
  for (const std::int32_t id : ids)
    out.emplace_back(id);
  return out;
}

// The drawing in batch_builder.h.
StepPlan drawn_plan() {
  StepPlan plan;
  plan.sequences.resize(2);
  plan.sequences[0].num_computed_tokens = 8;
  plan.sequences[0].num_new_tokens = 8;
  plan.sequences[1].num_computed_tokens = 30;
  plan.sequences[1].num_new_tokens = 1;
  plan.token_ids = {108, 109, 110, 111, 112, 113, 114, 115, 230};
  plan.tables.resize(1);
  plan.tables[0].blocks = blocks({5, 9, 2, 7, 11, 12, 13, 14, 15, 16, 17, 3});
  plan.tables[0].offsets = {0, 4, 12};
  return plan;
}

TEST(BatchBuilderTest, PlacesEachTokenAtItsPositionAndSlot) {
  const StepPlan plan = drawn_plan();
  BatchBuilder builder(1, 4);
  const backend::PagedBatch& batch = builder.build(plan, plan.token_ids);
  EXPECT_EQ(batch.num_tokens(), 9);
  EXPECT_EQ(batch.num_sequences(), 2);
  EXPECT_THAT(batch.positions, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15, 30));
  EXPECT_THAT(batch.query_offsets, ElementsAre(0, 8, 9));
  EXPECT_THAT(batch.context_lens, ElementsAre(16, 31));
  // Positions 8..11 in block 2, 12..15 in block 7; position 30 is the third of block 3.
  EXPECT_THAT(batch.kv_groups[0].slots, ElementsAre(8, 9, 10, 11, 28, 29, 30, 31, 14));
}

TEST(BatchBuilderTest, EachGroupHasItsOwnSlots) {
  StepPlan plan = drawn_plan();
  plan.tables.push_back(plan.tables[0]);
  plan.tables[1].blocks[2] = BlockId(1);
  BatchBuilder builder(2, 4);
  const backend::PagedBatch& batch = builder.build(plan, plan.token_ids);
  ASSERT_EQ(batch.kv_groups.size(), 2u);
  EXPECT_EQ(batch.kv_groups[0].slots[0], 8);
  EXPECT_EQ(batch.kv_groups[1].slots[0], 4);
  EXPECT_EQ(batch.kv_groups[1].slots[4], 28);
}

TEST(BatchBuilderTest, AnotherBuildStartsAnew) {
  StepPlan plan = drawn_plan();
  BatchBuilder builder(1, 4);
  builder.build(plan, plan.token_ids);
  plan.sequences.pop_back();
  plan.token_ids.pop_back();
  const backend::PagedBatch& batch = builder.build(plan, plan.token_ids);
  EXPECT_EQ(batch.num_sequences(), 1);
  EXPECT_EQ(batch.positions.size(), 8u);
  EXPECT_EQ(batch.kv_groups[0].slots.size(), 8u);
}

}  // namespace
}  // namespace tvllm::executor
