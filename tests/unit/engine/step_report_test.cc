// SPDX-License-Identifier: Apache-2.0
// What EngineCore says of the step it did last, on a clock that the parts around it move.
#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <vector>

#include "engine/engine_core.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"
#include "tests/support/virtual_clock.h"

namespace tvllm::engine {
namespace {

using std::chrono::milliseconds;
using testing::make_request;
using testing::make_scheduler;
using testing::ScriptedExecutor;
using testing::VirtualClock;

// Says that the phases of step i took i, 2 i and 3 i ms.
class TimedExecutor final : public executor::ModelExecutor {
 public:
  TimedExecutor(int depth, VirtualClock& clock)
      : scripted_({.max_steps_in_flight = depth}), clock_(clock) {}

  int max_steps_in_flight() const override { return scripted_.max_steps_in_flight(); }
  void submit(const StepPlan& plan) override {
    scripted_.submit(plan);
    clock_.advance(milliseconds(100));
  }
  const StepResult& collect() override {
    result_ = scripted_.collect();
    clock_.advance(milliseconds(1000));
    const milliseconds unit(++num_collected_);
    result_.timings = {.build = unit, .forward = 2 * unit, .sample = 3 * unit};
    return result_;
  }

 private:
  ScriptedExecutor scripted_;
  VirtualClock& clock_;
  StepResult result_;
  int num_collected_ = 0;
};

class SlowSink final : public TokenEventSink {
 public:
  explicit SlowSink(VirtualClock& clock) : clock_(clock) {}
  void publish(std::span<TokenEvent>) noexcept override { clock_.advance(milliseconds(10)); }

 private:
  VirtualClock& clock_;
};

class StepReportTest : public ::testing::TestWithParam<int> {
 protected:
  VirtualClock clock_;
  std::unique_ptr<scheduler::Scheduler> scheduler_ = make_scheduler({});
  TimedExecutor executor_{GetParam(), clock_};
  EngineCore core_{*scheduler_, executor_, {}, clock_};
  SlowSink sink_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Depths, StepReportTest, ::testing::Values(1, 2));

TEST_P(StepReportTest, TellsOfEachStepOnceItsResultIsApplied) {
  core_.add({SeqId(1), make_request({.prompt_len = 5, .max_tokens = 3}), &sink_});
  std::vector<StepReport> reports;
  while (core_.has_work()) {
    const std::uint64_t before = core_.num_collected_steps();
    core_.step();
    if (core_.num_collected_steps() > before) reports.push_back(core_.last_step());
  }
  ASSERT_GE(reports.size(), 3u);
  EXPECT_EQ(reports[0].num_prefill_tokens, 5);
  EXPECT_EQ(reports[0].num_context_tokens, 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(reports[1].num_decode_tokens, 1);
  EXPECT_EQ(reports[1].num_context_tokens, 6);
  EXPECT_EQ(reports[2].num_context_tokens, 7);
  for (std::size_t i = 0; i < 3; ++i) {
    const milliseconds unit(static_cast<int>(i) + 1);
    EXPECT_EQ(reports[i].timings.execution.build, unit);
    EXPECT_EQ(reports[i].timings.execution.sample, 3 * unit);
    EXPECT_EQ(reports[i].timings.publish, milliseconds(10));
    // Neither waiting for the executor nor the sink's work counts as the scheduler's.
    EXPECT_EQ(reports[i].timings.schedule, milliseconds(0));
    EXPECT_EQ(reports[i].timings.apply, milliseconds(0));
    EXPECT_EQ(reports[i].timings.total(), 6 * unit + milliseconds(10));
  }
}

TEST_P(StepReportTest, SaysWhenTheStepWasPlanned) {
  clock_.advance(milliseconds(7));
  core_.add({SeqId(1), make_request({.prompt_len = 5, .max_tokens = 1}), &sink_});
  while (core_.num_collected_steps() == 0)
    core_.step();
  EXPECT_EQ(core_.last_step().timings.start, TimePoint(milliseconds(7)));
}

}  // namespace
}  // namespace tvllm::engine
