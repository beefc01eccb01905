// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/byte_tokenizer.h"
#include "tests/support/fake_engine.h"
#include "trace/trace_ring.h"

namespace tvllm::bench {
namespace {

class ThroughputTest : public ::testing::Test {
 protected:
  Result<ThroughputResult> run(const std::vector<BenchPrompt>& prompts,
                               const ThroughputOptions& options,
                               std::function<void()> on_finished = {}) {
    return run_throughput(
        {.engine = engine_, .tokenizer = *tokenizer_, .ring = ring_, .runner = runner_}, prompts,
        options, std::move(on_finished));
  }
  static BenchPrompt prompt(std::string_view text, std::int32_t output_len) {
    const std::vector<TokenId> ids = testing::byte_tokens(text);
    return {.text = std::string(text),
            .token_ids = ids,
            .num_tokens = static_cast<std::int32_t>(ids.size()),
            .num_output_tokens = output_len};
  }

  OfflineRunner runner_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = testing::make_byte_tokenizer();
  trace::TraceRing ring_{1 << 20};
  testing::FakeEngine engine_{{.eos = testing::kEndOfText, .max_model_len = 64}};
};

TEST_F(ThroughputTest, EveryPromptIsAnsweredSoOftenAndSoLong) {
  engine_.set_replies({testing::byte_tokens("abc")});
  int num_finished = 0;
  const Result<ThroughputResult> result =
      run({prompt("hello", 3), prompt("you", 8)}, {.n = 2}, [&] { ++num_finished; });
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(num_finished, 4);
  EXPECT_EQ(result->num_requests, 4);
  EXPECT_EQ(result->run.num_prompt_tokens, 16);
  EXPECT_EQ(result->run.num_output_tokens, 22);
  const auto submitted = engine_.submitted();  // the gate's is the first
  EXPECT_EQ(submitted[1]->prompt_token_ids, submitted[2]->prompt_token_ids);
  EXPECT_NE(submitted[1]->sampling.choice_index, submitted[2]->sampling.choice_index);
}

TEST_F(ThroughputTest, WhatIsTooLongIsRefusedBeforeAnythingRuns) {
  const Result<ThroughputResult> result =
      run({prompt("hello", 3), prompt(std::string(60, 'x'), 5)}, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "a prompt of 60 tokens and an answer of 5 make 65; the longest sequence is 64");
  EXPECT_EQ(engine_.num_submitted(), 0u);
}

TEST(ThroughputReportTest, BeginsWithTheLinesOfVllm) {
  ThroughputResult result;
  result.run.seconds = 4.0;
  result.run.num_prompt_tokens = 100;
  result.run.num_output_tokens = 20;
  result.num_requests = 10;
  const std::string report = throughput_report(result);
  EXPECT_EQ(report.substr(0, report.find("\n\n")),
            "Throughput: 2.50 requests/s, 30.00 total tokens/s, 5.00 output tokens/s\n"
            "Total num prompt tokens:  100\n"
            "Total num output tokens:  20");
  EXPECT_TRUE(throughput_json(result).starts_with(
      R"({"elapsed_time":4E0,"num_requests":10,"total_num_tokens":120,"requests_per_second":2.5E0,)"));
}

}  // namespace
}  // namespace tvllm::bench
