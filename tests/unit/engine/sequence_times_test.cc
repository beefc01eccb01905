// SPDX-License-Identifier: Apache-2.0
// The times that come with events, on a clock that moves 10 ms a step.
#include "core/sequence_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
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

class SlowExecutor final : public executor::ModelExecutor {
 public:
  SlowExecutor(const testing::ScriptedExecutorOptions& options, VirtualClock& clock)
      : scripted_(options), clock_(clock) {}
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override {
    scripted_.submit(plan);
    clock_.advance(milliseconds(10));
  }
  const StepResult& collect() override { return scripted_.collect(); }

 private:
  ScriptedExecutor scripted_;
  VirtualClock& clock_;
};

class KeepingSink final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override {
    for (TokenEvent& event : events)
      of[event.seq_id].push_back(std::move(event));
  }
  std::map<SeqId, std::vector<TokenEvent>> of;
};

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

struct Engine {
  explicit Engine(const testing::SchedulerSpec& spec = {})
      : scheduler(make_scheduler(spec)),
        executor(
            {.max_num_batched_tokens = spec.max_num_batched_tokens, .num_blocks = spec.num_blocks},
            clock) {
    clock.advance(milliseconds(100));  // the epoch means "not yet"
  }
  void add(int id, const testing::RequestSpec& request) {
    core.add({SeqId(static_cast<std::uint64_t>(id)), make_request(request), &sink});
  }
  void run() {
    while (core.has_work())
      core.step();
  }
  const std::vector<TokenEvent>& events(int id) {
    return sink.of[SeqId(static_cast<std::uint64_t>(id))];
  }

  VirtualClock clock;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  SlowExecutor executor;
  KeepingSink sink;
  EngineCore core{*scheduler, executor, {}, clock};
};

TEST(SequenceTimesTest, AreThoseOfTakingInAdmittingAndTheTokens) {
  Engine engine;
  engine.add(1, {.max_tokens = 3, .ignore_eos = true});
  engine.clock.advance(milliseconds(5));
  engine.run();
  const auto& events = engine.events(1);
  ASSERT_EQ(events.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const SequenceTimes& times = events[static_cast<std::size_t>(i)].times;
    EXPECT_EQ(times.queued, at(100));
    EXPECT_EQ(times.scheduled, at(105));
    EXPECT_EQ(times.first_token, at(115));
    EXPECT_EQ(times.last_token, at(115 + 10 * i));
  }
}

TEST(SequenceTimesTest, APromptInChunksHasItsFirstTokenAfterTheLastOne) {
  Engine engine({.max_num_batched_tokens = 8});
  engine.add(1, {.prompt_len = 24, .max_tokens = 1});
  engine.run();
  const SequenceTimes& times = engine.events(1).back().times;
  EXPECT_EQ(times.scheduled, at(100));
  EXPECT_EQ(times.first_token, at(130));
}

TEST(SequenceTimesTest, WhoWaitsForAPlaceIsScheduledWhenItHasOne) {
  Engine engine({.max_num_seqs = 1});
  engine.add(1, {.max_tokens = 4, .ignore_eos = true});
  engine.add(2, {.max_tokens = 1});
  engine.run();
  EXPECT_EQ(engine.events(2).back().times.queued, at(100));
  EXPECT_EQ(engine.events(2).back().times.scheduled, at(140));
}

// Two sequences that want three of the four blocks each.
TEST(SequenceTimesTest, APreemptionAfterTheFirstTokenLeavesTheAdmission) {
  Engine engine({.num_blocks = 4});
  engine.add(1, {.max_tokens = 8, .ignore_eos = true});
  engine.add(2, {.max_tokens = 8, .ignore_eos = true, .first_token = 50});
  engine.run();
  ASSERT_EQ(engine.scheduler->stats().num_preemptions, 1u);
  const SequenceTimes& times = engine.events(2).back().times;
  EXPECT_EQ(times.scheduled, at(100));
  EXPECT_EQ(times.first_token, at(110));
  EXPECT_GT(times.last_token, engine.events(1).back().times.last_token);
}

// The second one's prompt comes in shares of one token; the first one grows meanwhile.
TEST(SequenceTimesTest, APreemptionBeforeTheFirstTokenIsWaiting) {
  Engine engine({.max_num_seqs = 2, .max_num_batched_tokens = 2, .num_blocks = 4});
  engine.add(1, {.max_tokens = 10, .ignore_eos = true});
  engine.add(2, {.prompt_len = 8, .max_tokens = 1, .first_token = 50});
  engine.run();
  ASSERT_GE(engine.scheduler->stats().num_preemptions, 1u);
  const SequenceTimes& times = engine.events(2).back().times;
  EXPECT_GE(times.scheduled, engine.events(1).back().times.last_token);
  EXPECT_GT(times.first_token, times.scheduled);
}

TEST(SequenceTimesTest, AnEndWithoutATokenTellsHowFarItCame) {
  Engine engine({.max_num_seqs = 1});
  engine.add(1, {.max_tokens = 40, .ignore_eos = true});
  engine.add(2, {});
  engine.core.step();
  engine.core.cancel(SeqId(2));
  engine.core.step();
  engine.core.abort_all();
  EXPECT_EQ(engine.events(2).back().times.queued, at(100));
  EXPECT_EQ(engine.events(2).back().times.scheduled, TimePoint{});
  EXPECT_EQ(engine.events(2).back().times.first_token, TimePoint{});
  EXPECT_EQ(engine.events(1).back().finish_reason, FinishReason::kAbort);
  EXPECT_EQ(engine.events(1).back().times.last_token, at(120));
}

}  // namespace
}  // namespace tvllm::engine
