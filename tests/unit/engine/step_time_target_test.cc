// SPDX-License-Identifier: Apache-2.0
// What the step-time target does to streams and to the long prompts that arrive beside them, on a
// machine whose speed is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine_core.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"
#include "tests/support/virtual_clock.h"

namespace tvllm::engine {
namespace {

using std::chrono::microseconds;
using testing::make_request;
using testing::make_scheduler;
using testing::ScriptedExecutor;
using testing::VirtualClock;

constexpr std::int32_t kBudget = 512;
constexpr int kNumStreams = 8;
constexpr int kPromptLen = 1500;

// A step takes 6 ms, and 0.3 ms more for each token.
class Machine final : public executor::ModelExecutor {
 public:
  explicit Machine(VirtualClock& clock)
      : scripted_({.max_num_seqs = 64, .max_num_batched_tokens = kBudget, .num_blocks = 4096}),
        clock_(clock) {}

  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override {
    scripted_.submit(plan);
    duration_ = microseconds(plan.empty() ? 0 : 6000 + 300 * plan.num_tokens());
    clock_.advance(duration_);
  }
  const StepResult& collect() override {
    result_ = scripted_.collect();
    result_.timings = {.forward = duration_};
    return result_;
  }

 private:
  ScriptedExecutor scripted_;
  VirtualClock& clock_;
  microseconds duration_{0};
  StepResult result_;
};

class Sink final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override {
    for (const TokenEvent& event : events) {
      if (event.seq_id.value() > kNumStreams && event.token_id != kNoToken) ++num_prompts_done;
    }
  }
  int num_prompts_done = 0;
};

// Eight streams, undisturbed for a while, then beside `num_prompts` long prompts one after another.
class StepTimeTargetTest : public ::testing::Test {
 protected:
  void start(const StepTimeTarget& target) {
    core_ = std::make_unique<EngineCore>(*scheduler_, machine_, target, clock_);
    for (int i = 1; i <= kNumStreams; ++i)
      core_->add({SeqId(static_cast<std::uint64_t>(i)),
                  make_request({.prompt_len = 16, .max_tokens = 4000, .ignore_eos = true}),
                  &sink_});
    for (int i = 0; i < 50; ++i)
      core_->step();
  }

  // The longest step while the prompts are computed.
  Duration run_prompts(int num_prompts) {
    Duration longest{};
    for (int i = 0; i < num_prompts; ++i) {
      const int num_done = sink_.num_prompts_done + 1;
      core_->add({SeqId(static_cast<std::uint64_t>(kNumStreams + num_done)),
                  make_request({.prompt_len = kPromptLen, .max_tokens = 1}), &sink_});
      while (sink_.num_prompts_done < num_done) {
        const TimePoint before = clock_.now();
        core_->step();
        longest = std::max(longest, clock_.now() - before);
      }
    }
    return longest;
  }

  VirtualClock clock_;
  std::unique_ptr<scheduler::Scheduler> scheduler_ =
      make_scheduler({.max_num_seqs = 64,
                      .max_num_batched_tokens = kBudget,
                      .max_model_len = 8000,
                      .num_blocks = 4096});
  Machine machine_{clock_};
  Sink sink_;
  std::unique_ptr<EngineCore> core_;
};

constexpr Duration kDecodeStep = microseconds(6000 + 300 * kNumStreams);

TEST_F(StepTimeTargetTest, AutoKeepsTheGapWithinFourDecodeSteps) {
  start({.mode = StepTimeTarget::Mode::kAuto});
  run_prompts(2);  // the first chunks teach what prompt tokens cost
  EXPECT_LE(run_prompts(5), 4 * kDecodeStep);
}

TEST_F(StepTimeTargetTest, AutoLeavesSevenTenthsOfTheRateToPrompts) {
  start({.mode = StepTimeTarget::Mode::kAuto});
  run_prompts(2);
  const TimePoint begin = clock_.now();
  run_prompts(5);
  const double rate = 5 * kPromptLen / to_seconds(clock_.now() - begin);
  const double undisturbed = kBudget / (6e-3 + 0.3e-3 * kBudget);
  EXPECT_GE(rate, 0.7 * undisturbed);
}

TEST_F(StepTimeTargetTest, AFixedTargetBoundsTheStep) {
  start({.mode = StepTimeTarget::Mode::kFixed, .seconds = 0.050});
  run_prompts(2);
  EXPECT_LE(run_prompts(5), microseconds(52'500));
}

TEST_F(StepTimeTargetTest, OffTakesTheWholeBudget) {
  start({.mode = StepTimeTarget::Mode::kOff});
  EXPECT_EQ(run_prompts(1), microseconds(6000 + 300 * kBudget));
}

TEST_F(StepTimeTargetTest, ATargetBelowTheDecodesStillLetsPromptsThrough) {
  start({.mode = StepTimeTarget::Mode::kFixed, .seconds = 0.001});
  run_prompts(1);
  EXPECT_EQ(sink_.num_prompts_done, 1);
}

}  // namespace
}  // namespace tvllm::engine
