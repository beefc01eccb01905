// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <vector>

#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"

namespace tvllm::engine {
namespace {

using testing::make_request;
using testing::make_scheduler;
using testing::ScriptedExecutor;

// Keeps what each sequence got.
class RecordingSink final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override {
    ++num_calls;
    for (TokenEvent& event : events)
      by_sequence[event.seq_id].push_back(std::move(event));
  }

  std::vector<TokenId> tokens(SeqId seq_id) const {
    std::vector<TokenId> ids;
    for (const TokenEvent& event : by_sequence.at(seq_id)) {
      if (event.token_id != kNoToken) ids.push_back(event.token_id);
    }
    return ids;
  }
  FinishReason end(SeqId seq_id) const { return by_sequence.at(seq_id).back().finish_reason; }
  int num_ends(SeqId seq_id) const {
    int count = 0;
    for (const TokenEvent& event : by_sequence.at(seq_id)) {
      count += event.finish_reason != FinishReason::kNone ? 1 : 0;
    }
    return count;
  }

  std::map<SeqId, std::vector<TokenEvent>> by_sequence;
  int num_calls = 0;
};

class EngineCoreTest : public ::testing::TestWithParam<int> {
 protected:
  SeqId add(const testing::RequestSpec& spec, TokenEventSink& sink) {
    const SeqId seq_id(++num_added_);
    requests_[seq_id] = make_request(spec);
    core_.add({seq_id, requests_[seq_id], &sink});
    return seq_id;
  }

  void run_until_idle() {
    for (int step = 0; core_.has_work(); ++step) {
      ASSERT_LT(step, 1000) << "the engine does not come to rest";
      core_.step();
    }
    EXPECT_EQ(executor_.violation(), "");
  }

  std::vector<TokenId> expected_tokens(SeqId seq_id, std::int32_t count) const {
    const Request& request = *requests_.at(seq_id);
    std::vector<TokenId> ids;
    for (std::int32_t i = 0; i < count; ++i) {
      ids.push_back(executor_.token_at(
          request, static_cast<std::int32_t>(request.prompt_token_ids.size()) + i));
    }
    return ids;
  }

  std::unique_ptr<scheduler::Scheduler> scheduler_ = make_scheduler({});
  ScriptedExecutor executor_{{.max_steps_in_flight = GetParam()}};
  EngineCore core_{*scheduler_, executor_};
  RecordingSink sink_;
  std::uint64_t num_added_ = 0;
  std::map<SeqId, std::shared_ptr<const Request>> requests_;
};

INSTANTIATE_TEST_SUITE_P(Depths, EngineCoreTest, ::testing::Values(1, 2),
                         ::testing::PrintToStringParamName());

TEST_P(EngineCoreTest, GivesEachSequenceItsTokensAndOneEnd) {
  const SeqId a = add({.prompt_len = 5, .max_tokens = 7, .ignore_eos = true}, sink_);
  const SeqId b = add({.prompt_len = 20, .max_tokens = 3, .ignore_eos = true}, sink_);
  run_until_idle();
  EXPECT_EQ(sink_.tokens(a), expected_tokens(a, 7));
  EXPECT_EQ(sink_.tokens(b), expected_tokens(b, 3));
  EXPECT_EQ(sink_.end(a), FinishReason::kLength);
  EXPECT_EQ(sink_.num_ends(a), 1);
  EXPECT_EQ(sink_.num_ends(b), 1);
}

TEST_P(EngineCoreTest, WakesASinkOncePerStep) {
  for (int i = 0; i < 5; ++i)
    add({.prompt_len = 4, .max_tokens = 3, .ignore_eos = true}, sink_);
  run_until_idle();
  EXPECT_EQ(sink_.num_calls, 3);
}

TEST_P(EngineCoreTest, SendsEventsToTheSinkOfTheirRequest) {
  RecordingSink other;
  const SeqId a = add({.max_tokens = 4, .ignore_eos = true}, sink_);
  const SeqId b = add({.max_tokens = 4, .ignore_eos = true}, other);
  const SeqId c = add({.max_tokens = 4, .ignore_eos = true}, sink_);
  run_until_idle();
  EXPECT_EQ(sink_.by_sequence.size(), 2u);
  EXPECT_EQ(other.by_sequence.size(), 1u);
  EXPECT_EQ(sink_.tokens(a), expected_tokens(a, 4));
  EXPECT_EQ(other.tokens(b), expected_tokens(b, 4));
  EXPECT_EQ(sink_.tokens(c), expected_tokens(c, 4));
}

TEST_P(EngineCoreTest, CancelEndsAWaitingSequenceAndARunningOne) {
  const SeqId waiting = add({}, sink_);
  core_.cancel(waiting);
  run_until_idle();
  EXPECT_EQ(sink_.end(waiting), FinishReason::kAbort);
  EXPECT_EQ(sink_.num_ends(waiting), 1);

  const SeqId running = add({.max_tokens = 50, .ignore_eos = true}, sink_);
  core_.step();
  core_.step();
  core_.cancel(running);
  run_until_idle();
  EXPECT_EQ(sink_.end(running), FinishReason::kAbort);
  EXPECT_EQ(sink_.num_ends(running), 1);
  EXPECT_EQ(scheduler_->kv_cache().num_used_blocks(), 0);
}

TEST_P(EngineCoreTest, CancelOfAnEndedOrUnknownSequenceIsHarmless) {
  const SeqId a = add({.max_tokens = 1, .ignore_eos = true}, sink_);
  run_until_idle();
  core_.cancel(a);
  core_.cancel(SeqId(999));
  run_until_idle();
  EXPECT_EQ(sink_.num_ends(a), 1);
}

TEST_P(EngineCoreTest, FailAllTellsEveryLiveSequence) {
  const SeqId ended = add({.max_tokens = 1, .ignore_eos = true}, sink_);
  run_until_idle();
  const SeqId a = add({.max_tokens = 50, .ignore_eos = true}, sink_);
  const SeqId b = add({.max_tokens = 50, .ignore_eos = true}, sink_);
  core_.step();
  core_.fail_all("the device is gone");
  EXPECT_EQ(sink_.num_ends(ended), 1);
  for (const SeqId seq_id : {a, b}) {
    EXPECT_EQ(sink_.end(seq_id), FinishReason::kError);
    EXPECT_EQ(sink_.by_sequence.at(seq_id).back().error_message, "the device is gone");
  }
}

TEST_P(EngineCoreTest, OneSequencesBadLogitsEndItAlone) {
  executor_.fail_at(0, 2);  // requests with seed 0, as this one, at their third output
  const SeqId a = add({.max_tokens = 6, .ignore_eos = true}, sink_);
  run_until_idle();
  EXPECT_EQ(sink_.end(a), FinishReason::kError);
  EXPECT_EQ(sink_.tokens(a).size(), 2u);
}

}  // namespace
}  // namespace tvllm::engine
