// SPDX-License-Identifier: Apache-2.0
// What the engine counts for /metrics.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <numeric>

#include "engine/engine_core.h"
#include "engine/engine_thread.h"
#include "engine/event_queue.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"

namespace tvllm::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::make_request;
using testing::make_scheduler;
using testing::ScriptedExecutor;

// Says that each step took 1, 2 and 4 ms.
class TimedExecutor final : public executor::ModelExecutor {
 public:
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override { scripted_.submit(plan); }
  const StepResult& collect() override {
    result_ = scripted_.collect();
    result_.timings = {
        .build = milliseconds(1), .forward = milliseconds(2), .sample = milliseconds(4)};
    return result_;
  }

 private:
  ScriptedExecutor scripted_{{}};
  StepResult result_;
};

TEST(EngineStatsTest, StepsAreCountedByTheirTokensAndPhasesAddUp) {
  EventQueue events;
  const auto scheduler = make_scheduler({});
  TimedExecutor executor;
  EngineCore core(*scheduler, executor);
  // Steps of 9 tokens, then three of 1: the borders are 1, 8, 16, ...
  core.add(
      {SeqId(1), make_request({.prompt_len = 9, .max_tokens = 4, .ignore_eos = true}), &events});
  while (core.has_work())
    core.step();
  const StepTotals& totals = core.step_totals();
  EXPECT_EQ(totals.num_steps_by_tokens[0], 3u);
  EXPECT_EQ(totals.num_steps_by_tokens[1], 0u);
  EXPECT_EQ(totals.num_steps_by_tokens[2], 1u);
  EXPECT_EQ(std::accumulate(totals.num_steps_by_tokens.begin(), totals.num_steps_by_tokens.end(),
                            std::uint64_t{0}),
            4u);
  EXPECT_EQ(totals.num_tokens, 12u);
  const double num_steps = static_cast<double>(core.num_collected_steps());
  EXPECT_NEAR(totals.build_s, 0.001 * num_steps, 1e-9);
  EXPECT_NEAR(totals.forward_s, 0.002 * num_steps, 1e-9);
  EXPECT_NEAR(totals.sample_s, 0.004 * num_steps, 1e-9);
  EXPECT_GT(totals.schedule_s, 0.0);
  EXPECT_GT(totals.apply_s, 0.0);
  EXPECT_GT(totals.publish_s, 0.0);
}

TEST(EngineStatsTest, ASequenceWithoutValidLogitsIsCountedOnce) {
  EventQueue events;
  const auto scheduler = make_scheduler({});
  ScriptedExecutor executor({});
  executor.fail_at(/*seed=*/0, /*output_idx=*/1);
  EngineCore core(*scheduler, executor);
  core.add({SeqId(1), make_request({.max_tokens = 4}), &events});
  while (core.has_work())
    core.step();
  EXPECT_EQ(core.num_corrupted(), 1u);
}

// Says when its first step has begun, and waits in it.
class HeldExecutor final : public executor::ModelExecutor {
 public:
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override {
    if (!held_) {
      held_ = true;
      begun_.set_value();
      released_.get_future().wait();
    }
    scripted_.submit(plan);
  }
  const StepResult& collect() override { return scripted_.collect(); }
  void wait_until_begun() { begun_.get_future().wait(); }
  void release() { released_.set_value(); }

 private:
  ScriptedExecutor scripted_{{}};
  bool held_ = false;
  std::promise<void> begun_;
  std::promise<void> released_;
};

TEST(EngineStatsTest, WhoArrivesDuringALongStepIsWaiting) {
  EventQueue events;
  auto held = std::make_unique<HeldExecutor>();
  HeldExecutor& executor = *held;
  EngineThread engine(make_scheduler({}), std::move(held), 10, 64);
  ASSERT_TRUE(engine.submit(make_request({}), events).has_value());
  executor.wait_until_begun();
  ASSERT_TRUE(engine.submit(make_request({}), events).has_value());
  ASSERT_TRUE(engine.submit(make_request({}), events).has_value());
  // The one in the step was not running when the last step ended either.
  EXPECT_EQ(engine.stats().num_waiting, 3);
  executor.release();
  ASSERT_TRUE(engine.wait_idle(steady_clock::now() + seconds(30)));
  EXPECT_EQ(engine.stats().num_waiting, 0);
  EXPECT_EQ(engine.stats().num_running, 0);
  EXPECT_EQ(engine.stats().num_used_blocks, 0);
  EXPECT_GT(engine.stats().steps.num_tokens, 0u);
}

}  // namespace
}  // namespace tvllm::engine
