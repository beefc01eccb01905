// SPDX-License-Identifier: Apache-2.0
#include "bench/offline_runner.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/byte_tokenizer.h"
#include "tests/support/fake_engine.h"

namespace tvllm::bench {
namespace {

using testing::FakeEngine;

std::vector<std::shared_ptr<const Request>> make_requests(int count, std::int32_t output_len) {
  std::vector<std::shared_ptr<const Request>> requests;
  for (int i = 0; i < count; ++i) {
    Request request;
    request.prompt_token_ids = testing::byte_tokens("hello");
    request.sampling.max_tokens = output_len;
    request.sampling.ignore_eos = true;
    requests.push_back(std::make_shared<Request>(std::move(request)));
  }
  return requests;
}

class OfflineRunnerTest : public ::testing::Test {
 protected:
  OfflineRunner runner_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = testing::make_byte_tokenizer();
  FakeEngine engine_{{.eos = testing::kEndOfText}};
};

TEST_F(OfflineRunnerTest, CountsTokensAndEndsWhenAllHaveEnded) {
  engine_.set_replies({testing::byte_tokens("abc")});
  int num_finished = 0;
  const Result<OfflineRun> run =
      runner_.run(engine_, make_requests(5, 7),
                  {.detokenizer = tokenizer_.get(), .on_finished = [&] { ++num_finished; }});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->num_prompt_tokens, 25);
  EXPECT_EQ(run->num_output_tokens, 35);
  EXPECT_EQ(num_finished, 5);
  ASSERT_EQ(run->first_token_seconds.size(), 5u);
  for (const double seconds : run->first_token_seconds) {
    EXPECT_GT(seconds, 0.0);
    EXPECT_LE(seconds, run->seconds);
  }
}

// No step gives tokens before all requests are there.
TEST_F(OfflineRunnerTest, TheEngineWaitsUntilAllAreSubmitted) {
  engine_.set_replies({testing::byte_tokens("abc")});
  std::size_t num_submitted = 0;
  std::uint64_t num_tokens = 0;
  const Result<OfflineRun> run = runner_.run(engine_, make_requests(200, 3), {.on_start = [&] {
                                               num_submitted = engine_.num_submitted();
                                               num_tokens = engine_.num_tokens();
                                             }});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(num_submitted, 201u);  // with the gate's own
  EXPECT_EQ(num_tokens, 1u);
  EXPECT_EQ(engine_.num_tokens(), 601u);
}

TEST_F(OfflineRunnerTest, ARequestThatFailsFailsTheRunAndTheNextIsSound) {
  engine_.set_replies({testing::byte_tokens("abc")});
  engine_.fail_sequences_after(2);
  EXPECT_FALSE(runner_.run(engine_, make_requests(3, 7), {}).has_value());
}

TEST_F(OfflineRunnerTest, WhatTheEngineRefusesIsSaid) {
  engine_.set_state(engine::EngineState::kDraining);
  const Result<OfflineRun> run = runner_.run(engine_, make_requests(1, 1), {});
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::kUnavailable);
}

TEST(OfflineRunnerLimitTest, ARefusalInTheMiddleLeavesNobodyAtTheGate) {
  OfflineRunner runner;
  FakeEngine engine({.eos = testing::kEndOfText, .max_live = 2});
  engine.set_replies({testing::byte_tokens("abc")});
  const Result<OfflineRun> run = runner.run(engine, make_requests(5, 1), {});
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace tvllm::bench
