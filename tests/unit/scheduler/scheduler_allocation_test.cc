// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/support/allocation_counter.h"
#include "tests/support/make_scheduler.h"
#include "trace/trace_recorder.h"

namespace tvllm::scheduler {
namespace {

// Answers are written into a result that has room already, as an executor's does.
void answer(const StepPlan& plan, StepResult& result) {
  result.step_id = plan.step_id;
  result.sequences.resize(plan.sequences.size());
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    result.sequences[i].seq_id = plan.sequences[i].seq_id;
    result.sequences[i].token_id = plan.sequences[i].samples_token ? 5 : kNoToken;
  }
}

// Allocations of plan() and apply() over `num_steps` steps at the given depth.
std::uint64_t count_allocations(Scheduler& scheduler, std::uint64_t depth,
                                std::uint64_t num_steps) {
  std::array<StepPlan, 2> plans;
  StepResult result;
  std::vector<TokenEvent> events;
  std::uint64_t num_counted = 0;
  for (std::uint64_t i = 0; i < num_steps + depth; ++i) {
    const bool is_warm = i >= 4;  // admissions are over, both plans have been used
    const std::uint64_t before_plan = testing::num_allocations();
    scheduler.plan(plans[i % 2]);
    if (is_warm) num_counted += testing::num_allocations() - before_plan;
    if (i + 1 < depth) continue;
    const StepPlan& oldest = plans[(i + 1 - depth) % 2];
    answer(oldest, result);
    events.clear();
    const std::uint64_t before_apply = testing::num_allocations();
    scheduler.apply(oldest, result, events);
    if (is_warm) num_counted += testing::num_allocations() - before_apply;
  }
  return num_counted;
}

TEST(SchedulerAllocationTest, CounterCounts) {
  const std::uint64_t before = testing::num_allocations();
  const std::vector<int> some(100);
  EXPECT_EQ(testing::num_allocations() - before, 1u) << some.size();
}

TEST(SchedulerAllocationTest, AStepThatAdmitsAndFinishesNothingAllocatesNothing) {
  for (const std::uint64_t depth : {1u, 2u}) {
    auto scheduler = testing::make_scheduler({.max_num_seqs = 16,
                                              .max_num_batched_tokens = 128,
                                              .max_model_len = 600,
                                              .num_kv_groups = 2,
                                              .num_blocks = 8000,
                                              .enable_prefix_caching = true});
    for (std::uint64_t i = 1; i <= 16; ++i) {
      scheduler->add(SeqId(i), testing::make_request({.prompt_len = 5, .max_tokens = 500}));
    }
    EXPECT_EQ(count_allocations(*scheduler, depth, 400), 0u) << "depth " << depth;
    EXPECT_EQ(scheduler->stats().num_running, 16);
    if (depth > 1) continue;  // a step still names the blocks
    for (std::uint64_t i = 1; i <= 16; ++i)
      scheduler->cancel(SeqId(i));
    EXPECT_GT(scheduler->stats().num_cached_blocks, 100) << "full blocks were indexed meanwhile";
  }
}

// Blocks that many hold stand in many tables: there are more table entries than blocks.
TEST(SchedulerAllocationTest, NorWhereTablesShareMoreThanThePoolHolds) {
  auto scheduler = testing::make_scheduler({.max_num_seqs = 16,
                                            .max_num_batched_tokens = 600,
                                            .max_model_len = 1000,
                                            .num_blocks = 1150,
                                            .enable_prefix_caching = true});
  scheduler->add(SeqId(1), testing::make_request({.prompt_len = 500, .max_tokens = 450}));
  StepPlan plan;
  StepResult result;
  std::vector<TokenEvent> events;
  scheduler->plan(plan);
  answer(plan, result);
  scheduler->apply(plan, result, events);
  for (std::uint64_t i = 2; i <= 16; ++i) {
    scheduler->add(SeqId(i), testing::make_request({.prompt_len = 500, .max_tokens = 170}));
  }
  EXPECT_EQ(count_allocations(*scheduler, 1, 160), 0u);
  EXPECT_EQ(scheduler->stats().num_running, 16);
  EXPECT_LT(scheduler->stats().num_used_blocks, 1150);
}

TEST(SchedulerAllocationTest, NeitherDoesOneThatIsTraced) {
  trace::TraceRing ring(2000 * sizeof(trace::TraceEvent));
  trace::TraceRecorder recorder(ring, {}, 100);  // fewer than 400 steps write
  const testing::SchedulerSpec spec{.max_num_seqs = 16,
                                    .max_num_batched_tokens = 128,
                                    .max_model_len = 600,
                                    .num_blocks = 8000,
                                    .enable_prefix_caching = true};
  Scheduler scheduler(spec.options(), {testing::kEos}, &recorder);
  for (std::uint64_t i = 1; i <= 16; ++i) {
    scheduler.add(SeqId(i), testing::make_request({.prompt_len = 5, .max_tokens = 500}));
  }
  EXPECT_EQ(count_allocations(scheduler, 1, 400), 0u);
  const std::uint64_t before = testing::num_allocations();
  recorder.flush();
  EXPECT_EQ(testing::num_allocations() - before, 0u);
  // A token and a share of the plan for each sequence and step, at the least.
  EXPECT_GT(ring.next(), 400u * 16u * 2u);
}

}  // namespace
}  // namespace tvllm::scheduler
