// SPDX-License-Identifier: Apache-2.0
#include "bench/serving_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/serving_report.h"

namespace tvllm::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 3 tokens at 0.2, 0.3, 0.5 s; 1 token at 1.4 s; and one that failed.
std::vector<RequestOutcome> outcomes() {
  return {{.success = true,
           .num_prompt_tokens = 10,
           .num_output_tokens = 3,
           .start = 0.0,
           .ttft = 0.2,
           .latency = 0.5,
           .itls = {0.1, 0.2},
           .text = "abc"},
          {.success = true,
           .num_prompt_tokens = 20,
           .num_output_tokens = 1,
           .start = 0.4,
           .queue_seconds = 0.4,
           .ttft = 1.0,
           .latency = 1.0,
           .text = "d"},
          {.success = false, .error = "HTTP 503: 'later'", .num_prompt_tokens = 99, .start = 0.5}};
}

TEST(ServingMetricsTest, RatesCountWhatSucceeded) {
  const ServingMetrics metrics = serving_metrics(outcomes(), 2.0, {});
  EXPECT_EQ(metrics.num_completed, 2);
  EXPECT_EQ(metrics.num_failed, 1);
  EXPECT_EQ(metrics.num_input_tokens, 30);
  EXPECT_EQ(metrics.num_output_tokens, 4);
  EXPECT_DOUBLE_EQ(metrics.request_throughput, 1.0);
  EXPECT_DOUBLE_EQ(metrics.output_throughput, 2.0);
  EXPECT_DOUBLE_EQ(metrics.total_token_throughput, 17.0);
  EXPECT_EQ(metrics.max_concurrent_requests, 2);
  EXPECT_DOUBLE_EQ(metrics.max_output_tokens_per_s, 3.0);
}

TEST(ServingMetricsTest, TimesAreInMillisecondsAndTpotLeavesOutSingleTokens) {
  const ServingMetrics metrics = serving_metrics(outcomes(), 2.0, {.percentiles = {0, 90}});
  const auto& [ttft, tpot, itl, e2el] = metrics.spreads_ms;
  EXPECT_DOUBLE_EQ(ttft.mean, 600.0);
  EXPECT_DOUBLE_EQ(ttft.median, 600.0);
  EXPECT_DOUBLE_EQ(ttft.deviation, 400.0);
  ASSERT_EQ(ttft.percentiles.size(), 2u);
  EXPECT_DOUBLE_EQ(ttft.percentiles[0], 200.0);
  EXPECT_DOUBLE_EQ(ttft.percentiles[1], 920.0);
  EXPECT_DOUBLE_EQ(tpot.mean, 150.0);
  EXPECT_DOUBLE_EQ(itl.mean, 150.0);
  EXPECT_DOUBLE_EQ(e2el.mean, 750.0);
}

TEST(ServingMetricsTest, AnEndAndAStartAtOneTimeAreNotTogether) {
  const std::vector<RequestOutcome> rows = {
      {.success = true, .start = 0.0, .latency = 1.0},
      {.success = true, .start = 1.0, .latency = 1.0},
  };
  EXPECT_EQ(serving_metrics(rows, 2.0, {}).max_concurrent_requests, 1);
}

TEST(ServingMetricsTest, AGoodRequestKeepsEveryBound) {
  const auto goodput = [](std::vector<Goodput> bounds) {
    return serving_metrics(outcomes(), 1.0, {.goodput = std::move(bounds)}).request_goodput;
  };
  EXPECT_DOUBLE_EQ(goodput({{Metric::kTtft, 1000.0}}), 2.0);
  EXPECT_DOUBLE_EQ(goodput({{Metric::kTtft, 999.0}}), 1.0);
  EXPECT_DOUBLE_EQ(goodput({{Metric::kTpot, 149.0}}), 1.0);  // a single token has a TPOT of 0
  EXPECT_DOUBLE_EQ(goodput({{Metric::kE2el, 600.0}, {Metric::kTpot, 149.0}}), 0.0);
}

TEST(ServingMetricsTest, NothingHasZeros) {
  const ServingMetrics metrics = serving_metrics({}, 0.0, {});
  EXPECT_EQ(metrics.request_throughput, 0.0);
  EXPECT_EQ(metrics.max_output_tokens_per_s, 0.0);
  EXPECT_EQ(metrics.spreads_ms[0].percentiles.front(), 0.0);
}

TEST(ServingReportTest, IsVllmsTable) {
  ServingRun run;
  run.arrivals.request_rate = 2.5;
  run.max_concurrency = 16;
  run.metrics = {Metric::kE2el, Metric::kTtft};
  run.metric_options.percentiles = {99.0, 99.9};
  const ServingMetrics metrics = serving_metrics(outcomes(), 2.0, run.metric_options);
  EXPECT_EQ(serving_report(run, metrics),
            "============ Serving Benchmark Result ============\n"
            "Successful requests:                     2         \n"
            "Failed requests:                         1         \n"
            "Maximum request concurrency:             16        \n"
            "Request rate configured (RPS):           2.50      \n"
            "Benchmark duration (s):                  2.00      \n"
            "Total input tokens:                      30        \n"
            "Total generated tokens:                  4         \n"
            "Request throughput (req/s):              1.00      \n"
            "Output token throughput (tok/s):         2.00      \n"
            "Peak output token throughput (tok/s):    3.00      \n"
            "Peak concurrent requests:                2.00      \n"
            "Total token throughput (tok/s):          17.00     \n"
            "---------------Time to First Token----------------\n"
            "Mean TTFT (ms):                          600.00    \n"
            "Median TTFT (ms):                        600.00    \n"
            "P99 TTFT (ms):                           992.00    \n"
            "P99.9 TTFT (ms):                         999.20    \n"
            "----------------End-to-end Latency----------------\n"
            "Mean E2EL (ms):                          750.00    \n"
            "Median E2EL (ms):                        750.00    \n"
            "P99 E2EL (ms):                           995.00    \n"
            "P99.9 E2EL (ms):                         999.50    \n"
            "==================================================\n");
}

TEST(ServingReportTest, TheFileHasSingleRequestsOnlyWhenAsked) {
  ServingRun run;
  run.date = "20261207-120000";
  run.model_id = "m";
  run.num_prompts = 3;
  run.metadata = {{"machine", "box"}};
  const std::vector<RequestOutcome> rows = outcomes();
  const ServingMetrics metrics = serving_metrics(rows, 2.0, run.metric_options);
  const std::string brief = serving_json(run, metrics, {});
  EXPECT_THAT(brief, HasSubstr(R"({"date":"20261207-120000","endpoint_type":"openai",)"));
  EXPECT_THAT(brief, HasSubstr(R"("tokenizer_id":null,"num_prompts":3,"machine":"box",)"));
  EXPECT_THAT(brief, HasSubstr(R"("request_rate":"inf","burstiness":1E0,"max_concurrency":null)"));
  EXPECT_THAT(brief, HasSubstr(R"("completed":2,"failed":1)"));
  EXPECT_THAT(brief, HasSubstr(R"("request_goodput":null)"));
  EXPECT_THAT(brief, HasSubstr(R"("p99_ttft_ms":)"));
  EXPECT_THAT(brief, Not(HasSubstr("e2el")));
  EXPECT_THAT(brief, Not(HasSubstr("ttfts")));
  const std::string detailed = serving_json(run, metrics, rows);
  EXPECT_THAT(detailed, HasSubstr(R"("input_lens":[10,20,99],"output_lens":[3,1,0])"));
  EXPECT_THAT(detailed, HasSubstr(R"("itls":[[1E-1,2E-1],[],[]])"));
  EXPECT_THAT(detailed, HasSubstr(R"("generated_texts":["abc","d",""])"));
  EXPECT_THAT(detailed, HasSubstr(R"("errors":["","","HTTP 503: 'later'"])"));
}

}  // namespace
}  // namespace tvllm::bench
