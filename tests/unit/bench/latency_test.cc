// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "tests/support/byte_tokenizer.h"
#include "tests/support/fake_engine.h"
#include "trace/trace_ring.h"

namespace tvllm::bench {
namespace {

class LatencyTest : public ::testing::Test {
 protected:
  Result<LatencyResult> run(const LatencyOptions& options) {
    return run_latency(
        {.engine = engine_, .tokenizer = *tokenizer_, .ring = ring_, .runner = runner_}, options);
  }

  OfflineRunner runner_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = testing::make_byte_tokenizer();
  trace::TraceRing ring_{1 << 20};
  testing::FakeEngine engine_{{.eos = testing::kEndOfText, .max_model_len = 64}};
};

TEST_F(LatencyTest, EveryIterationHasTheSamePromptsOfOrdinaryTokens) {
  engine_.set_replies({testing::byte_tokens("abc")});
  const Result<LatencyResult> result = run({.input_len = 20,
                                            .output_len = 3,
                                            .batch_size = 2,
                                            .n = 2,
                                            .num_iters_warmup = 1,
                                            .num_iters = 2,
                                            .seed = 9});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->latencies.size(), 2u);
  EXPECT_EQ(result->first_token_seconds.size(), 8u);
  std::multiset<std::vector<TokenId>> prompts;
  for (const auto& request : engine_.submitted()) {
    if (request->sampling.max_tokens == 1) continue;  // the gate's
    EXPECT_EQ(request->sampling.max_tokens, 3);
    EXPECT_TRUE(request->sampling.ignore_eos);
    EXPECT_EQ(request->prompt_token_ids.size(), 20u);
    for (const TokenId id : request->prompt_token_ids)
      EXPECT_FALSE(tokenizer_->is_special(id));
    prompts.insert(request->prompt_token_ids);
  }
  EXPECT_EQ(prompts.size(), 12u);
  EXPECT_EQ(prompts.count(*prompts.begin()), 6u);
  EXPECT_EQ(prompts.count(*prompts.rbegin()), 6u);
}

TEST_F(LatencyTest, WhatIsTooLongIsRefusedWithBothNumbers) {
  EXPECT_TRUE(run({.input_len = 60, .output_len = 4, .batch_size = 1, .num_iters = 1}).has_value());
  const Result<LatencyResult> refused = run({.input_len = 60, .output_len = 5});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message,
            "--input-len 60 and --output-len 5 make 65 tokens; the longest sequence is 64");
}

TEST(LatencyReportTest, BeginsWithTheLinesOfVllm) {
  const LatencyResult result{.latencies = {1.5, 0.5}, .first_token_seconds = {0.25}};
  const std::string report = latency_report(result);
  EXPECT_EQ(report.substr(0, report.find("\n\n")),
            "Avg latency: 1 seconds\n"
            "Std latency: 0.5 seconds\n"
            "10% percentile latency: 0.6 seconds\n"
            "25% percentile latency: 0.75 seconds\n"
            "50% percentile latency: 1 seconds\n"
            "75% percentile latency: 1.25 seconds\n"
            "90% percentile latency: 1.4 seconds\n"
            "99% percentile latency: 1.49 seconds\n"
            "Median time to first token: 0.25 seconds");
  EXPECT_EQ(latency_json(result).substr(0, 20), R"({"avg_latency":1E0,")");
}

}  // namespace
}  // namespace tvllm::bench
