// SPDX-License-Identifier: Apache-2.0
// When the engine core's steps reach the trace, and under which time.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <vector>

#include "engine/engine_core.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"
#include "tests/support/virtual_clock.h"
#include "trace/trace_recorder.h"

namespace tvllm::engine {
namespace {

using std::chrono::milliseconds;
using testing::make_request;
using trace::EventKind;
using trace::TraceEvent;

// A step takes 100 ms, of which 60 ms are the model's.
class TimedExecutor final : public executor::ModelExecutor {
 public:
  explicit TimedExecutor(testing::VirtualClock& clock) : scripted_({}), clock_(clock) {}
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override { scripted_.submit(plan); }
  const StepResult& collect() override {
    clock_.advance(milliseconds(100));
    result_ = scripted_.collect();
    result_.timings = {
        .build = milliseconds(30), .forward = milliseconds(60), .sample = milliseconds(10)};
    return result_;
  }

 private:
  testing::ScriptedExecutor scripted_;
  testing::VirtualClock& clock_;
  StepResult result_;
};

// Looks into the ring at the moment at which a front end is woken.
class RingSink final : public TokenEventSink {
 public:
  explicit RingSink(const trace::TraceRing& ring) : ring_(ring) {}
  void publish(std::span<TokenEvent>) noexcept override { next_when_woken_ = ring_.next(); }
  std::uint64_t next_when_woken() const { return next_when_woken_; }

 private:
  const trace::TraceRing& ring_;
  std::uint64_t next_when_woken_ = 0;
};

class EngineTraceTest : public ::testing::Test {
 protected:
  std::vector<TraceEvent> events() const {
    std::vector<TraceEvent> events(ring_.capacity());
    events.resize(ring_.read(1, events).num_events);
    return events;
  }
  std::vector<TraceEvent> events(EventKind kind) const {
    std::vector<TraceEvent> all = events();
    std::erase_if(all, [kind](const TraceEvent& event) { return event.kind != kind; });
    return all;
  }

  testing::VirtualClock clock_;
  trace::TraceRing ring_{1000 * sizeof(TraceEvent)};
  trace::TraceRecorder recorder_{ring_, clock_.now()};
  scheduler::Scheduler scheduler_{testing::SchedulerSpec{}.options(), {testing::kEos}, &recorder_};
  TimedExecutor executor_{clock_};
  EngineCore core_{scheduler_, executor_, {}, clock_};
  RingSink sink_{ring_};
};

TEST_F(EngineTraceTest, AStepIsInTheRingBeforeAnybodyIsWoken) {
  core_.add({SeqId(1), make_request({.prompt_len = 5, .max_tokens = 3}), &sink_});
  EXPECT_EQ(ring_.next(), 1u);
  while (core_.has_work()) {
    core_.step();
    EXPECT_EQ(sink_.next_when_woken(), ring_.next());
  }
  EXPECT_EQ(events(EventKind::kTokenProduced).size(), 3u);
  EXPECT_EQ(events(EventKind::kSequenceFinished).size(), 1u);
}

TEST_F(EngineTraceTest, EventsHaveTheTimeOfTheirHalfOfTheStep) {
  clock_.advance(milliseconds(7));
  core_.add({SeqId(1), make_request({.prompt_len = 5, .max_tokens = 2}), &sink_});
  clock_.advance(milliseconds(3));
  while (core_.has_work())
    core_.step();
  EXPECT_EQ(events(EventKind::kRequestQueued).at(0).time_us, 7'000);
  EXPECT_EQ(events(EventKind::kSequenceAdmitted).at(0).time_us, 10'000);
  EXPECT_EQ(events(EventKind::kSequencePlanned).at(0).time_us, 10'000);
  const std::vector<TraceEvent> tokens = events(EventKind::kTokenProduced);
  EXPECT_EQ(tokens.at(0).time_us, 110'000);
  EXPECT_EQ(tokens.at(1).time_us, 210'000);
  EXPECT_EQ(tokens.at(0).step_id, 1u);
  EXPECT_EQ(tokens.at(1).step_id, 2u);
  const std::vector<TraceEvent> timings = events(EventKind::kStepTimings);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].values[1], 30'000);
  EXPECT_EQ(timings[0].values[2], 60'000);
  EXPECT_EQ(timings[0].values[3], 10'000);
}

TEST_F(EngineTraceTest, TheEndsOfAFailedEngineAreTold) {
  core_.add({SeqId(1), make_request({}), &sink_});
  core_.add({SeqId(2), make_request({}), &sink_});
  core_.step();
  core_.fail_all("the device died");
  std::map<SeqId, std::int32_t> reasons;
  for (const TraceEvent& event : events(EventKind::kSequenceFinished))
    reasons[event.seq_id] = event.values[0];
  const std::int32_t error = static_cast<std::int32_t>(FinishReason::kError);
  EXPECT_EQ(reasons, (std::map<SeqId, std::int32_t>{{SeqId(1), error}, {SeqId(2), error}}));
}

}  // namespace
}  // namespace tvllm::engine
