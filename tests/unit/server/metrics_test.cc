// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/strings.h"
#include "server/process_stats.h"
#include "tests/support/metrics_text.h"

namespace tvllm::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MetricsText;

constexpr const char* kLabels = R"({engine="0",model_name="tiny"})";

class MetricsTest : public ::testing::Test {
 protected:
  MetricsText page(const engine::EngineStats& stats = {}) const {
    MetricsText text = testing::read_metrics(metrics_.exposition(stats));
    EXPECT_EQ(text.error, "");
    return text;
  }
  double value(const std::string& name) const {
    const MetricsText text = page();
    const auto found = text.samples.find(name);
    return found == text.samples.end() ? -1.0 : found->second;
  }
  double count(const std::string& histogram) const {
    return value(str_cat("vllm:", histogram, "_count", kLabels));
  }
  double sum(const std::string& histogram) const {
    return value(str_cat("vllm:", histogram, "_sum", kLabels));
  }

  Metrics metrics_{"tiny", 2048, {.block_size = 16, .dtype = "f16", .enable_prefix_caching = true}};
};

TEST_F(MetricsTest, HasEveryNameOfVllmFromTheStart) {
  const MetricsText text = page();
  const std::vector<std::string> gauges = {"vllm:num_requests_running", "vllm:num_requests_waiting",
                                           "vllm:num_requests_waiting_by_reason",
                                           "vllm:kv_cache_usage_perc", "vllm:cache_config_info"};
  const std::vector<std::string> counters = {
      "prompt_tokens",     "generation_tokens", "prompt_tokens_cached", "prefix_cache_queries",
      "prefix_cache_hits", "num_preemptions",   "request_success",      "corrupted_requests"};
  const std::vector<std::string> histograms = {"time_to_first_token_seconds",
                                               "inter_token_latency_seconds",
                                               "request_time_per_output_token_seconds",
                                               "e2e_request_latency_seconds",
                                               "request_queue_time_seconds",
                                               "request_prefill_time_seconds",
                                               "request_decode_time_seconds",
                                               "request_inference_time_seconds",
                                               "request_prompt_tokens",
                                               "request_generation_tokens",
                                               "request_max_num_generation_tokens",
                                               "request_params_n",
                                               "request_params_max_tokens",
                                               "request_prefill_kv_computed_tokens",
                                               "iteration_tokens_total"};
  for (const std::string& name : gauges)
    EXPECT_EQ(text.types.at(name), "gauge");
  for (const std::string& name : counters)
    EXPECT_EQ(text.types.at(str_cat("vllm:", name, "_total")), "counter");
  for (const std::string& name : histograms) {
    EXPECT_EQ(text.types.at(str_cat("vllm:", name)), "histogram");
    EXPECT_EQ(text.samples.at(str_cat("vllm:", name, "_count", kLabels)), 0.0);
  }
  for (const char* reason : {"stop", "length", "abort", "error"}) {
    EXPECT_EQ(value(str_cat(R"(vllm:request_success_total{engine="0",finished_reason=")", reason,
                            R"(",model_name="tiny"})")),
              0.0);
  }
  EXPECT_EQ(value(R"(vllm:cache_config_info{block_size="16",cache_dtype="f16",)"
                  R"(enable_prefix_caching="True",engine="0",model_name="tiny",)"
                  R"(num_gpu_blocks="0",prefix_caching_hash_algo="sha256"})"),
            1.0);
}

// From vllm/v1/metrics/loggers.py.
TEST_F(MetricsTest, BordersAreThoseOfVllm) {
  const std::string page = metrics_.exposition({});
  const auto borders_of = [&page](const std::string& name) {
    std::string borders;
    for (const std::string_view line : split(page, '\n')) {
      if (!line.starts_with(str_cat("vllm:", name, "_bucket{"))) continue;
      const std::size_t at = line.find("le=\"") + 4;
      str_append(borders, borders.empty() ? "" : " ", line.substr(at, line.find('"', at) - at));
    }
    return borders;
  };
  EXPECT_EQ(borders_of("time_to_first_token_seconds"),
            "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 20 40 80 160 "
            "640 2560 +Inf");
  const std::string gaps =
      "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80 +Inf";
  EXPECT_EQ(borders_of("inter_token_latency_seconds"), gaps);
  EXPECT_EQ(borders_of("request_time_per_output_token_seconds"), gaps);
  const std::string latencies =
      "0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680 +Inf";
  for (const char* name : {"e2e_request_latency", "request_queue_time", "request_prefill_time",
                           "request_decode_time", "request_inference_time"}) {
    EXPECT_EQ(borders_of(str_cat(name, "_seconds")), latencies);
  }
  const std::string lengths = "1 2 5 10 20 50 100 200 500 1000 2000 +Inf";
  EXPECT_EQ(borders_of("request_prompt_tokens"), lengths);
  EXPECT_EQ(borders_of("request_params_max_tokens"), lengths);
  EXPECT_EQ(borders_of("request_params_n"), "1 2 5 10 20 +Inf");
  EXPECT_EQ(borders_of("iteration_tokens_total"),
            "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 +Inf");
}

TEST_F(MetricsTest, ShowsTheEnginesSnapshot) {
  engine::EngineStats stats;
  stats.num_running = 3;
  stats.num_waiting = 4;
  stats.num_blocks = 40;
  stats.num_used_blocks = 10;
  stats.num_cached_blocks = 25;
  stats.num_prompt_tokens = 1000;
  stats.num_generated_tokens = 20'000'000;
  stats.num_prefix_queries = 900;
  stats.num_prefix_hits = 300;
  stats.num_preemptions = 7;
  stats.num_corrupted = 2;
  stats.steps.num_steps_by_tokens[0] = 5;   // of one token
  stats.steps.num_steps_by_tokens[13] = 1;  // beyond 16384
  stats.steps.num_tokens = 20'005;
  stats.steps.forward_s = 1.5;
  const MetricsText text = page(stats);
  const auto at = [&text](const std::string& name) { return text.samples.at(name + kLabels); };
  EXPECT_EQ(at("vllm:num_requests_running"), 3);
  EXPECT_EQ(at("vllm:num_requests_waiting"), 4);
  EXPECT_EQ(at("vllm:kv_cache_usage_perc"), 0.25);
  EXPECT_EQ(at("vllm:prompt_tokens_total"), 1000);
  EXPECT_EQ(at("vllm:generation_tokens_total"), 20'000'000);
  EXPECT_EQ(at("vllm:prompt_tokens_cached_total"), 300);
  EXPECT_EQ(at("vllm:prefix_cache_queries_total"), 900);
  EXPECT_EQ(at("vllm:prefix_cache_hits_total"), 300);
  EXPECT_EQ(at("vllm:num_preemptions_total"), 7);
  EXPECT_EQ(at("vllm:corrupted_requests_total"), 2);
  EXPECT_EQ(at("vllm:iteration_tokens_total_count"), 6);
  EXPECT_EQ(at("vllm:iteration_tokens_total_sum"), 20'005);
  EXPECT_EQ(text.samples.at(
                R"(vllm:iteration_tokens_total_bucket{engine="0",le="16384",model_name="tiny"})"),
            5);
  const auto labelled = [&text](const std::string& name, const std::string& own) {
    return text.samples.at(str_cat(name, R"({engine="0",model_name="tiny",)", own, "}"));
  };
  EXPECT_EQ(labelled("vllm:num_requests_waiting_by_reason", R"(reason="capacity")"), 4);
  EXPECT_EQ(labelled("vllm:num_requests_waiting_by_reason", R"(reason="deferred")"), 0);
  EXPECT_EQ(labelled("tiny_vllm:kv_cache_blocks", R"(state="used")"), 10);
  EXPECT_EQ(labelled("tiny_vllm:kv_cache_blocks", R"(state="cached")"), 25);
  EXPECT_EQ(labelled("tiny_vllm:kv_cache_blocks", R"(state="free")"), 5);
  EXPECT_EQ(labelled("tiny_vllm:step_phase_seconds_total", R"(phase="forward")"), 1.5);
}

FinishedChoice five_tokens(FinishReason reason) {
  const TimePoint start(seconds(1000));
  return {.reason = reason,
          .num_prompt_tokens = 100,
          .num_cached_tokens = 64,
          .num_output_tokens = 5,
          .max_tokens = 50,
          .since_arrival = seconds(9),
          .times = {.queued = start,
                    .scheduled = start + seconds(2),
                    .first_token = start + seconds(3),
                    .last_token = start + seconds(7)}};
}

TEST_F(MetricsTest, AnEndedChoiceIsInEveryHistogramOfRequests) {
  metrics_.add_choice(five_tokens(FinishReason::kLength));
  EXPECT_EQ(sum("e2e_request_latency_seconds"), 9);
  EXPECT_EQ(sum("request_queue_time_seconds"), 2);
  EXPECT_EQ(sum("request_prefill_time_seconds"), 1);
  EXPECT_EQ(sum("request_decode_time_seconds"), 4);
  EXPECT_EQ(sum("request_inference_time_seconds"), 5);
  EXPECT_EQ(sum("request_time_per_output_token_seconds"), 1);  // four gaps in four seconds
  EXPECT_EQ(sum("request_prompt_tokens"), 100);
  EXPECT_EQ(sum("request_prefill_kv_computed_tokens"), 36);
  EXPECT_EQ(sum("request_generation_tokens"), 5);
  EXPECT_EQ(sum("request_params_max_tokens"), 50);
  EXPECT_EQ(value(R"(vllm:request_success_total{engine="0",finished_reason="length",)"
                  R"(model_name="tiny"})"),
            1);
}

TEST_F(MetricsTest, WhoIsCancelledOrFailsIsCountedAndNotMeasured) {
  metrics_.add_choice(five_tokens(FinishReason::kAbort));
  metrics_.add_choice(five_tokens(FinishReason::kError));
  EXPECT_EQ(count("e2e_request_latency_seconds"), 0);
  for (const char* reason : {"abort", "error"}) {
    EXPECT_EQ(value(str_cat(R"(vllm:request_success_total{engine="0",finished_reason=")", reason,
                            R"(",model_name="tiny"})")),
              1);
  }
}

TEST_F(MetricsTest, OneTokenHasNoTimePerToken) {
  FinishedChoice choice = five_tokens(FinishReason::kStop);
  choice.num_output_tokens = 1;
  metrics_.add_choice(choice);
  EXPECT_EQ(count("request_time_per_output_token_seconds"), 0);
  EXPECT_EQ(count("request_decode_time_seconds"), 1);
}

TEST_F(MetricsTest, TokensAndPromptsAreMeasured) {
  metrics_.add_first_token(milliseconds(250));
  metrics_.add_token_gap(milliseconds(10));
  metrics_.add_token_gap(milliseconds(20));
  metrics_.add_prompt(4, 12);
  EXPECT_EQ(sum("time_to_first_token_seconds"), 0.25);
  EXPECT_EQ(count("inter_token_latency_seconds"), 2);
  EXPECT_NEAR(sum("inter_token_latency_seconds"), 0.03, 1e-12);
  EXPECT_EQ(sum("request_params_n"), 4);
  EXPECT_EQ(sum("request_max_num_generation_tokens"), 12);
  // A border belongs to the bucket below it.
  EXPECT_EQ(value(R"(vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",)"
                  R"(model_name="tiny"})"),
            1);
}

TEST_F(MetricsTest, HttpRequestsAreByHandlerMethodAndClassOfStatus) {
  metrics_.add_http_request("/v1/completions", "POST", 200, seconds(2));
  metrics_.add_http_request("/v1/completions", "POST", 204, seconds(1));
  metrics_.add_http_request("/v1/completions", "POST", 429, {});
  EXPECT_EQ(value(R"(http_requests_total{handler="/v1/completions",method="POST",status="2xx"})"),
            2);
  EXPECT_EQ(value(R"(http_requests_total{handler="/v1/completions",method="POST",status="4xx"})"),
            1);
  EXPECT_EQ(value(R"(http_request_duration_seconds_sum{handler="/v1/completions",method="POST"})"),
            3);
}

TEST_F(MetricsTest, AClientCannotMakeSeries) {
  for (int i = 0; i < 100; ++i)
    metrics_.add_http_request("none", str_cat("METHOD", i), 405, {});
  EXPECT_EQ(value(R"(http_requests_total{handler="none",method="other",status="4xx"})"), 100);
}

TEST_F(MetricsTest, AModelsNameIsEscaped) {
  const Metrics metrics("a\"b\\c\nd", 64, {});
  const std::string page = metrics.exposition({});
  EXPECT_NE(page.find(R"(model_name="a\"b\\c\nd")"), std::string::npos);
}

TEST(ProcessStatsTest, SeesThisProcess) {
  const ProcessStats stats = read_process_stats();
  EXPECT_GT(stats.resident_bytes, 1u << 20);
  EXPECT_GT(stats.virtual_bytes, stats.resident_bytes);
  EXPECT_GE(stats.num_open_files, 3u);
  EXPECT_LE(stats.num_open_files, stats.max_open_files);
  EXPECT_GT(stats.cpu_seconds, 0.0);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_LE(stats.start_time_seconds, now + 1);
  EXPECT_GT(stats.start_time_seconds, now - 3600);
}

}  // namespace
}  // namespace tvllm::server
