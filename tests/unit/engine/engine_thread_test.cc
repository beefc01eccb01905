// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/event_queue.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"

namespace tvllm::engine {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::make_request;
using testing::make_scheduler;
using testing::ScriptedExecutor;

constexpr std::int32_t kMaxModelLen = 64;

std::unique_ptr<EngineThread> make_engine(std::size_t max_arrivals = 1000) {
  return std::make_unique<EngineThread>(
      make_scheduler({}), std::make_unique<ScriptedExecutor>(testing::ScriptedExecutorOptions{}),
      max_arrivals, kMaxModelLen);
}

// Reads events until every one of `num_sequences` has ended; the number of tokens seen.
int drain_events(EventQueue& events, int num_sequences) {
  int num_tokens = 0;
  const auto deadline = steady_clock::now() + seconds(30);
  while (num_sequences > 0 && steady_clock::now() < deadline) {
    for (const TokenEvent& event : events.take_until(deadline)) {
      num_tokens += event.token_id != kNoToken ? 1 : 0;
      num_sequences -= event.finish_reason != FinishReason::kNone ? 1 : 0;
    }
  }
  EXPECT_EQ(num_sequences, 0);
  return num_tokens;
}

TEST(EngineThreadTest, ServesClientsOnSeveralThreads) {
  EventQueue events;  // outlives the engine
  const auto engine = make_engine();
  constexpr int kNumThreads = 4;
  constexpr int kNumEach = 25;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kNumThreads; ++i) {
      clients.emplace_back([&] {
        for (int j = 0; j < kNumEach; ++j) {
          const auto request =
              make_request({.prompt_len = 1 + j, .max_tokens = 5, .ignore_eos = true});
          EXPECT_TRUE(engine->submit(request, events).has_value());
        }
      });
    }
  }
  EXPECT_EQ(drain_events(events, kNumThreads * kNumEach), kNumThreads * kNumEach * 5);
}

TEST(EngineThreadTest, RefusesWhatCanNeverFit) {
  EventQueue events;
  const auto engine = make_engine();
  const Result<SeqId> refused = engine->submit(make_request({.prompt_len = kMaxModelLen}), events);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kContextLength);
}

TEST(EngineThreadTest, ADrainedEngineFinishesWhatItHasAndTakesNoMore) {
  EventQueue events;
  const auto engine = make_engine();
  ASSERT_TRUE(
      engine->submit(make_request({.max_tokens = 20, .ignore_eos = true}), events).has_value());
  engine->drain();
  EXPECT_EQ(engine->state(), EngineState::kDraining);
  const Result<SeqId> refused = engine->submit(make_request({}), events);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(engine->wait_idle(steady_clock::now() + seconds(30)));
  EXPECT_EQ(drain_events(events, 1), 20);
}

// Never gives a token, so that a sequence runs until somebody ends it.
class StuckExecutor final : public executor::ModelExecutor {
 public:
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result_.step_id = plan.step_id;
    result_.sequences.assign(plan.sequences.size(), {});
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
      result_.sequences[i].seq_id = plan.sequences[i].seq_id;
      result_.sequences[i].token_id = 7;
    }
  }
  const StepResult& collect() override { return result_; }

 private:
  StepResult result_;
};

TEST(EngineThreadTest, StopAbortsWhatStillRuns) {
  EventQueue events;
  testing::SchedulerSpec spec{.max_model_len = 1'000'000, .num_blocks = 250'000};
  EngineThread engine(make_scheduler(spec), std::make_unique<StuckExecutor>(), 10, 1'000'000);
  ASSERT_TRUE(
      engine.submit(make_request({.max_tokens = 900'000, .ignore_eos = true}), events).has_value());
  engine.stop();
  EXPECT_EQ(engine.state(), EngineState::kStopped);
  FinishReason last = FinishReason::kNone;
  for (const TokenEvent& event : events.take_until(steady_clock::now() + seconds(30))) {
    last = event.finish_reason;
  }
  EXPECT_EQ(last, FinishReason::kAbort);
}

TEST(EngineThreadTest, RefusesWhenTheInboxIsFull) {
  EventQueue events;
  testing::SchedulerSpec spec{.max_model_len = 1000, .num_blocks = 1000};
  EngineThread engine(make_scheduler(spec), std::make_unique<StuckExecutor>(), 2, 1000);
  ErrorCode code = ErrorCode::kInternal;
  for (int i = 0; i < 10'000 && code != ErrorCode::kResourceExhausted; ++i) {
    const Result<SeqId> answer =
        engine.submit(make_request({.max_tokens = 900, .ignore_eos = true}), events);
    if (!answer.has_value()) code = answer.error().code;
  }
  EXPECT_EQ(code, ErrorCode::kResourceExhausted);
}

class DyingExecutor final : public executor::ModelExecutor {
 public:
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan&) override { throw std::runtime_error("device lost"); }
  const StepResult& collect() override { return result_; }

 private:
  StepResult result_;
};

TEST(EngineThreadTest, AStepThatThrowsFailsEveryRequestAndTheEngine) {
  EventQueue events;
  std::atomic<int> num_failures{0};
  EngineThread engine(make_scheduler({}), std::make_unique<DyingExecutor>(), 10, kMaxModelLen,
                      [&num_failures] { ++num_failures; });
  ASSERT_TRUE(engine.submit(make_request({}), events).has_value());
  const std::vector<TokenEvent> taken = events.take_until(steady_clock::now() + seconds(30));
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].finish_reason, FinishReason::kError);
  EXPECT_NE(taken[0].error_message.find("device lost"), std::string::npos);
  engine.stop();
  EXPECT_EQ(num_failures, 1);
  EXPECT_EQ(engine.state(), EngineState::kFailed);
  EXPECT_EQ(engine.stats().num_used_blocks, 0);
  EXPECT_EQ(engine.submit(make_request({}), events).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tvllm::engine
