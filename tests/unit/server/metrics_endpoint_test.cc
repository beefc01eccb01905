// SPDX-License-Identifier: Apache-2.0
// GET /metrics, request ids and usage, through the real server over a fake engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/support/metrics_text.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

using testing::HttpAnswer;
using testing::HttpClient;

class MetricsEndpointTest : public ServerTest {
 protected:
  double metric(const std::string& name, const std::string& own_labels = {}) const {
    const HttpAnswer answer = get("/metrics");
    EXPECT_EQ(answer.status, 200);
    const testing::MetricsText text = testing::read_metrics(answer.body);
    EXPECT_EQ(text.error, "");
    const auto found = text.samples.find(name + own_labels);
    return found == text.samples.end() ? 0.0 : found->second;
  }
  double histogram(const std::string& name, const std::string& part) const {
    return metric(str_cat("vllm:", name, "_", part), R"({engine="0",model_name="tiny"})");
  }
  double ended(const std::string& reason) const {
    return metric("vllm:request_success_total",
                  str_cat(R"({engine="0",finished_reason=")", reason, R"(",model_name="tiny"})"));
  }
  double http_requests(const std::string& handler, const std::string& status) const {
    return metric("http_requests_total", str_cat(R"({handler=")", handler,
                                                 R"(",method="POST",status=")", status, R"("})"));
  }
};

TEST_F(MetricsEndpointTest, IsOpenAndInTheTextFormat) {
  Setup setup;
  setup.options.api_keys = {"secret"};
  start(setup);
  const HttpAnswer answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(MetricsEndpointTest, AnAnswerIsCountedAndMeasuredOnce) {
  start();
  reply("abcd");
  post_ok(kCompletions, R"({"prompt":"xyz","max_tokens":3})");
  EXPECT_EQ(ended("length"), 1);
  EXPECT_EQ(histogram("time_to_first_token_seconds", "count"), 1);
  EXPECT_EQ(histogram("inter_token_latency_seconds", "count"), 2);
  EXPECT_EQ(histogram("e2e_request_latency_seconds", "count"), 1);
  EXPECT_EQ(histogram("request_prompt_tokens", "sum"), 3);
  EXPECT_EQ(histogram("request_generation_tokens", "sum"), 3);
  EXPECT_EQ(histogram("request_params_max_tokens", "sum"), 3);
  EXPECT_EQ(histogram("request_params_n", "sum"), 1);
  // What it took is at least what its parts took.
  EXPECT_GE(histogram("e2e_request_latency_seconds", "sum"),
            histogram("request_inference_time_seconds", "sum"));
  EXPECT_EQ(http_requests("/v1/completions", "2xx"), 1);
}

TEST_F(MetricsEndpointTest, EveryChoiceIsARequestAndEveryPromptHasItsLongestOne) {
  start();
  engine_->set_replies({testing::byte_tokens("ab"), testing::byte_tokens("abcd")});
  post_ok(kCompletions, R"({"prompt":["x","y"],"n":2,"temperature":1})");
  EXPECT_EQ(ended("stop"), 4);
  EXPECT_EQ(histogram("request_params_n", "count"), 2);
  EXPECT_EQ(histogram("request_params_n", "sum"), 4);
  EXPECT_EQ(histogram("request_max_num_generation_tokens", "sum"), 2 * (4 + 1));  // with EOS
}

TEST_F(MetricsEndpointTest, AStopStringIsAStopAndNotTheCancellationBehindIt) {
  start();
  reply("one stop two three");
  post_ok(kCompletions, R"({"prompt":"x","max_tokens":100,"stop":"stop"})");
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 0; }));
  EXPECT_EQ(ended("stop"), 1);
  EXPECT_EQ(ended("abort"), 0);
  EXPECT_EQ(histogram("request_generation_tokens", "sum"), 8);
}

TEST_F(MetricsEndpointTest, AClientThatLeavesIsAnAbort) {
  start();
  reply("abc");
  engine_->pause();
  HttpClient client(port());
  client.send_request("POST", kCompletions,
                      R"({"prompt":"x","n":2,"temperature":1,"stream":true})");
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 2; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return ended("abort") == 2; }));
  EXPECT_EQ(http_requests("/v1/completions", "4xx"), 1);
  EXPECT_EQ(histogram("e2e_request_latency_seconds", "count"), 0);
}

TEST_F(MetricsEndpointTest, AFailedSequenceIsAnError) {
  start();
  reply("abcdef");
  engine_->pause();
  engine_->fail_sequences_after(0);
  HttpClient client(port());
  client.send_request("POST", kCompletions, R"({"prompt":"x"})");
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 1; }));
  engine_->step();
  EXPECT_EQ(client.read_answer().status, 500);
  EXPECT_EQ(ended("error"), 1);
  EXPECT_EQ(http_requests("/v1/completions", "5xx"), 1);
}

TEST_F(MetricsEndpointTest, RequestsWithoutAHandlerShareOneSeries) {
  start();
  post("/a", "");
  post("/b?c=d", "");
  post("/v1/models", "");
  EXPECT_EQ(http_requests("none", "4xx"), 3);
  get("/health");
  get("/metrics");
  EXPECT_EQ(metric("http_requests_total", R"({handler="/health",method="GET",status="2xx"})"), 0);
  EXPECT_EQ(metric("http_requests_total", R"({handler="/metrics",method="GET",status="2xx"})"), 0);
}

TEST_F(MetricsEndpointTest, TheEnginesSnapshotIsShownWhileItComputes) {
  start();
  engine_->pause();
  engine::EngineStats stats;
  stats.num_running = 7;
  engine_->set_stats(stats);
  EXPECT_EQ(metric("vllm:num_requests_running", R"({engine="0",model_name="tiny"})"), 7);
}

// --- usage and ids ---

TEST_F(MetricsEndpointTest, CachedTokensAreToldInUsage) {
  Setup setup;
  setup.options.prompt_tokens_details = true;
  setup.engine.num_cached_tokens = 16;
  start(setup);
  reply("abc");
  const std::string body = R"("prompt":"0123456789012345678901")";
  EXPECT_EQ(at(post_ok(kCompletions, str_cat("{", body, "}")),
               "usage.prompt_tokens_details.cached_tokens"),
            16);
  const auto events = stream(kCompletions, str_cat("{", body, R"(,"stream":true,)",
                                                   R"("stream_options":{"include_usage":true}})"));
  EXPECT_EQ(at(events.back(), "usage.prompt_tokens_details.cached_tokens"), 16);
  EXPECT_EQ(histogram("request_prefill_kv_computed_tokens", "sum"), 2 * (22 - 16));
}

TEST_F(MetricsEndpointTest, UsageCanBeForced) {
  Setup setup;
  setup.options.force_include_usage = true;
  start(setup);
  reply("abc");
  for (const char* options : {"", R"(,"stream_options":{"include_usage":false})"}) {
    const auto events =
        stream(kCompletions, str_cat(R"({"prompt":"x","stream":true)", options, "}"));
    EXPECT_EQ(at(events.back(), "usage.completion_tokens"), 4);
    EXPECT_TRUE(at(events.back(), "choices").as_array().empty());
  }
}

TEST_F(MetricsEndpointTest, TheHeadersIdNamesTheAnswerAndOutweighsTheBodys) {
  start();
  reply("abc");
  const HttpAnswer answer = testing::http_post(
      port(), kCompletions, R"({"prompt":"x","request_id":"mine"})", {"X-Request-Id: yours"});
  EXPECT_EQ(text_at(parse_json(answer.body), "id"), "cmpl-yours");
  EXPECT_EQ(answer.header("x-request-id"), "");  // only where asked
  EXPECT_EQ(text_at(post_ok(kCompletions, R"({"prompt":"x","request_id":"mine"})"), "id"),
            "cmpl-mine");
}

TEST_F(MetricsEndpointTest, OneIdTwiceIsTwoRequestsToTheEngine) {
  start();
  reply("abc");
  for (int i = 0; i < 2; ++i)
    post_ok(kCompletions, R"({"prompt":"x","n":2,"temperature":1,"request_id":"mine"})");
  std::vector<std::string> ids;
  for (const auto& request : engine_->submitted()) {
    EXPECT_TRUE(request->request_id.starts_with("cmpl-mine-"));
    ids.push_back(request->request_id);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()) - ids.begin(), 4);
}

TEST_F(MetricsEndpointTest, EveryAnswerHasItsIdWhereAsked) {
  Setup setup;
  setup.options.request_id_headers = true;
  start(setup);
  reply("abc");
  for (const char* path : {"/health", "/nowhere", "/v1/models"}) {
    EXPECT_EQ(testing::http_get(port(), path, {"X-Request-Id: abc-1"}).header("x-request-id"),
              "abc-1");
    EXPECT_EQ(get(path).header("x-request-id").size(), 32u);
    EXPECT_NE(get(path).header("x-request-id"), get(path).header("x-request-id"));
  }
  const HttpAnswer streamed = testing::http_post(
      port(), kCompletions, R"({"prompt":"x","stream":true})", {"X-Request-Id: abc-2"});
  EXPECT_EQ(streamed.header("x-request-id"), "abc-2");
  const HttpAnswer made = post(kCompletions, R"({"prompt":"x"})");
  EXPECT_EQ(text_at(parse_json(made.body), "id"), "cmpl-" + made.header("x-request-id"));
  // What is not usable is not repeated.
  const std::string too_long(129, 'a');
  for (const std::string& bad : {too_long, std::string("a b"), std::string("\xC3\xA4")}) {
    EXPECT_EQ(testing::http_get(port(), "/health", {"X-Request-Id: " + bad})
                  .header("x-request-id")
                  .size(),
              32u);
  }
}

}  // namespace
}  // namespace tvllm::server
