// SPDX-License-Identifier: Apache-2.0
// A whole step of the engine, from planning to publishing, in steady state.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine_core.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/make_scheduler.h"

namespace tvllm::engine {
namespace {

constexpr std::int32_t kNumSeqs = 64;

// Answers into results that keep their room, as a real executor's do.
class ThriftyExecutor final : public executor::ModelExecutor {
 public:
  explicit ThriftyExecutor(int depth) : depth_(depth) {
    for (StepResult& result : results_)
      result.sequences.reserve(kNumSeqs);
  }
  int max_steps_in_flight() const override { return depth_; }
  void submit(const StepPlan& plan) override {
    StepResult& result = results_[num_submitted_++ % results_.size()];
    result.step_id = plan.step_id;
    result.sequences.resize(plan.sequences.size());
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
      result.sequences[i].seq_id = plan.sequences[i].seq_id;
      result.sequences[i].token_id = plan.sequences[i].samples_token ? 5 : kNoToken;
    }
  }
  const StepResult& collect() override { return results_[num_collected_++ % results_.size()]; }

 private:
  const int depth_;
  std::array<StepResult, 2> results_;
  std::uint64_t num_submitted_ = 0;
  std::uint64_t num_collected_ = 0;
};

class CountingSink final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override { num_events += events.size(); }
  std::uint64_t num_events = 0;
};

class EngineAllocationTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Depths, EngineAllocationTest, ::testing::Values(1, 2),
                         ::testing::PrintToStringParamName());

// Streams that decode, beside a long prompt that is computed in chunks and requests that wait.
TEST_P(EngineAllocationTest, AStepThatAdmitsAndFinishesNothingAllocatesNothing) {
  const auto scheduler = testing::make_scheduler({.max_num_seqs = kNumSeqs,
                                                  .max_num_batched_tokens = 128,
                                                  .max_model_len = 20'000,
                                                  .block_size = 16,
                                                  .num_blocks = 4000,
                                                  .enable_prefix_caching = true});
  ThriftyExecutor executor(GetParam());
  CountingSink sink;
  EngineCore core(*scheduler, executor, {.mode = StepTimeTarget::Mode::kAuto});
  for (std::uint64_t i = 1; i <= kNumSeqs - 1; ++i) {
    core.add({SeqId(i),
              testing::make_request({.prompt_len = 20, .max_tokens = 5000, .ignore_eos = true}),
              &sink});
  }
  for (int i = 0; i < 20; ++i)
    core.step();
  core.add({SeqId(kNumSeqs), testing::make_request({.prompt_len = 15'000, .first_token = 50'000}),
            &sink});
  core.add({SeqId(kNumSeqs + 1), testing::make_request({}), &sink});
  for (int i = 0; i < 4; ++i)
    core.step();
  ASSERT_EQ(scheduler->stats().num_running, kNumSeqs);

  const std::uint64_t num_events = sink.num_events;
  const std::uint64_t before = testing::num_allocations();
  for (int i = 0; i < 100; ++i)
    core.step();
  EXPECT_EQ(testing::num_allocations() - before, 0u);
  EXPECT_EQ(sink.num_events - num_events, 100u * (kNumSeqs - 1)) << "the prompt is not done";
  EXPECT_EQ(scheduler->stats().num_waiting, 1);
}

}  // namespace
}  // namespace tvllm::engine
