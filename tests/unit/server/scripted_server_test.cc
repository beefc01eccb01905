// SPDX-License-Identifier: Apache-2.0
// The real server over the real engine thread, scheduler and cache manager; only the model is
// scripted: what it will say is known, byte by byte, a token each.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "engine/engine_thread.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/metrics_text.h"
#include "tests/support/scripted_executor.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

using testing::byte_tokens;
using testing::HttpAnswer;
using testing::HttpClient;
using testing::ScriptedExecutor;

constexpr std::int32_t kMaxModelLen = 512;
constexpr std::int32_t kNumBlocks = 512;

// Keeps the executor where the test can look at it when the engine has stopped.
class LentExecutor final : public executor::ModelExecutor {
 public:
  explicit LentExecutor(ScriptedExecutor& executor) : executor_(executor) {}
  int max_steps_in_flight() const override { return executor_.max_steps_in_flight(); }
  void submit(const StepPlan& plan) override { executor_.submit(plan); }
  const StepResult& collect() override { return executor_.collect(); }

 private:
  ScriptedExecutor& executor_;
};

class ScriptedServer {
 public:
  // Requests with seed i are answered with texts[i].
  ScriptedServer(const std::vector<std::string>& texts, int depth,
                 std::unique_ptr<executor::ModelExecutor> executor = nullptr)
      : tokenizer_(testing::make_byte_tokenizer()),
        executor_({.max_steps_in_flight = depth,
                   .max_num_seqs = 64,
                   .max_num_batched_tokens = 128,
                   .num_blocks = kNumBlocks,
                   .vocab_size = testing::kByteVocabSize}) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<TokenId> ids = byte_tokens(texts[i]);
      ids.push_back(testing::kEndOfText);
      executor_.script(i, ids);
    }
    const testing::SchedulerSpec spec{.max_num_seqs = 64,
                                      .max_num_batched_tokens = 128,
                                      .max_model_len = kMaxModelLen,
                                      .num_blocks = kNumBlocks,
                                      .enable_prefix_caching = true};
    if (executor == nullptr) executor = std::make_unique<LentExecutor>(executor_);
    engine_ = std::make_unique<engine::EngineThread>(
        std::make_unique<scheduler::Scheduler>(spec.options(),
                                               std::vector<TokenId>{testing::kEndOfText}),
        std::move(executor), 10'000, kMaxModelLen);
    ServerOptions options;
    options.port = 0;
    options.served_model_names = {"tiny"};
    options.http.tick_interval = std::chrono::milliseconds(5);
    auto server = Server::start(
        options, {.tokenizer = tokenizer_.get(), .vocab_size = testing::kByteVocabSize}, *engine_);
    EXPECT_TRUE(server.has_value());
    server_ = std::move(*server);
  }
  ~ScriptedServer() {
    server_.reset();
    engine_->stop();
    EXPECT_EQ(executor_.violation(), "");
  }

  std::uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }
  engine::EngineThread& engine() { return *engine_; }

 private:
  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  ScriptedExecutor executor_;
  std::unique_ptr<engine::EngineThread> engine_;
  std::unique_ptr<Server> server_;
};

struct Answer {
  std::vector<std::string> deltas;  // one, if not streamed
  std::string finish_reason;
  boost::json::value stop_reason;
  boost::json::value usage;

  std::string text() const {
    std::string all;
    for (const std::string& delta : deltas)
      all += delta;
    return all;
  }
};

// `fields` are the JSON members beside prompt, seed and stream.
Answer ask(const ScriptedServer& server, std::size_t seed, bool stream, const std::string& fields) {
  const std::string body = str_cat(
      R"({"prompt":"prompt )", seed, R"(","temperature":1,"max_tokens":200,"seed":)", seed,
      stream ? R"(,"stream":true,"stream_options":{"include_usage":true})" : "", fields, "}");
  const HttpAnswer answer = testing::http_post(server.port(), kCompletions, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(is_valid_utf8(answer.body));
  std::vector<std::string> events = {answer.body};
  if (stream) {
    events = testing::parse_events(answer.body);
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
  }
  Answer out;
  for (const std::string& event : events) {
    EXPECT_TRUE(is_valid_utf8(event));
    const boost::json::value chunk = parse_json(event);
    if (!at(chunk, "usage").is_null()) out.usage = at(chunk, "usage");
    if (at(chunk, "choices").as_array().empty()) continue;
    out.deltas.push_back(text_at(chunk, "choices.0.text"));
    if (at(chunk, "choices.0.finish_reason").is_null()) continue;
    EXPECT_EQ(out.finish_reason, "") << "two ends: " << answer.body;
    out.finish_reason = text_at(chunk, "choices.0.finish_reason");
    out.stop_reason = at(chunk, "choices.0.stop_reason");
  }
  return out;
}

class ScriptedServerTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Depths, ScriptedServerTest, ::testing::Values(1, 2));

// Case STR-01.
TEST_P(ScriptedServerTest, AStopStringOverTokensCutsExactlyAndNeverShowsItsBeginning) {
  const ScriptedServer server({"alpha beta gamma delta"}, GetParam());
  struct Run {
    std::string stop;
    std::string text;
    std::string reason;
  };
  const std::vector<Run> runs = {
      {R"(["beta gamma"])", "alpha ", "beta gamma"},
      {R"(["a"])", "", "a"},
      {R"(["delta"])", "alpha beta gamma ", "delta"},
      {R"(["zzz","pha b"])", "al", "pha b"},
      {R"(["alpha beta gamma delta"])", "", "alpha beta gamma delta"},
      {R"("gamma")", "alpha beta ", "gamma"},
      // Both end at the same byte: the longer one, which begins first.
      {R"(["beta","alpha beta"])", "", "alpha beta"},
  };
  for (const Run& run : runs) {
    const std::string fields = str_cat(R"(,"stop":)", run.stop);
    const Answer whole = ask(server, 0, false, fields);
    const Answer streamed = ask(server, 0, true, fields);
    EXPECT_EQ(whole.text(), run.text) << run.stop;
    EXPECT_EQ(streamed.text(), run.text) << run.stop;
    EXPECT_EQ(streamed.usage, whole.usage) << run.stop;
    for (const Answer* answer : {&whole, &streamed}) {
      EXPECT_EQ(answer->finish_reason, "stop");
      EXPECT_EQ(answer->stop_reason, boost::json::value(run.reason));
    }
    std::string shown;
    for (const std::string& delta : streamed.deltas) {
      shown += delta;
      EXPECT_TRUE(run.text.starts_with(shown)) << run.stop << " shows " << shown;
    }
  }
}

// Case STR-03: every token is a part of a character, and eight clients read at once.
TEST_P(ScriptedServerTest, CharactersOfManyTokensArriveWhole) {
  const std::vector<std::string> texts = {
      "Hi \U0001F600\U0001F389 n\u00E9 \u65E5\u672C!",
      "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
      "\U00050000",
      "e\u0301",
      "\u65E5\u672C\u8A9E\U0001F600",
      "\u00E9\u00E9\u00E9 plain \u00E9",
      "\U0010FFFF\u0080\u07FF\u0800\uFFFD end",  // one of them says U+FFFD itself
      "no more than ASCII",
  };
  const ScriptedServer server(texts, GetParam());
  std::vector<std::jthread> clients;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    clients.emplace_back([&, i] {
      for (const bool stream : {true, false}) {
        const Answer answer = ask(server, i, stream, "");
        EXPECT_EQ(answer.text(), texts[i]);
        EXPECT_EQ(answer.finish_reason, "stop");
        std::string shown;
        for (const std::string& delta : answer.deltas) {
          EXPECT_TRUE(is_valid_utf8(delta));
          shown += delta;
          EXPECT_TRUE(texts[i].starts_with(shown));
        }
      }
    });
  }
}

TEST_P(ScriptedServerTest, TheCountsOfMetricsAreThoseOfTheAnswers) {
  const ScriptedServer server({"abcdefgh"}, GetParam());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask(server, 0, i % 2 == 0, "").text(), "abcdefgh");
  const auto sample = [&server](const std::string& name) {
    const auto text = testing::read_metrics(testing::http_get(server.port(), "/metrics").body);
    EXPECT_EQ(text.error, "");
    return text.samples.at(name + R"({engine="0",model_name="tiny"})");
  };
  // Nine tokens each, with the end; the engine publishes events before it counts.
  EXPECT_TRUE(eventually([&] { return sample("vllm:generation_tokens_total") == 27; }));
  EXPECT_TRUE(eventually([&] { return sample("vllm:kv_cache_usage_perc") == 0; }));
  EXPECT_EQ(sample("vllm:prompt_tokens_total"), 24);
  EXPECT_EQ(sample("vllm:prefix_cache_queries_total"), 24);
  EXPECT_EQ(sample("vllm:prefix_cache_hits_total"), 8);  // a block of four, from the second on
  EXPECT_EQ(sample("vllm:request_generation_tokens_sum"), 27);
  EXPECT_EQ(sample("vllm:request_prefill_kv_computed_tokens_sum"), 16);
  EXPECT_EQ(sample("vllm:inter_token_latency_seconds_count"), 24);
  EXPECT_EQ(sample("vllm:num_requests_running"), 0);
}

// Case STR-08, without a clock: a client that leaves frees its work, wherever it is.
TEST_P(ScriptedServerTest, ClientsThatLeaveFreeTheirBlocks) {
  ScriptedServer server({}, GetParam());
  for (const bool stream : {true, false}) {
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < 32; ++i) {
      clients.push_back(std::make_unique<HttpClient>(server.port()));
      clients.back()->send_request(
          "POST", kCompletions,
          str_cat(R"({"prompt":"x","max_tokens":500,"ignore_eos":true,"stream":)", stream, "}"));
    }
    ASSERT_TRUE(eventually([&] { return server.engine().stats().num_running > 0; }));
    clients.clear();
    EXPECT_TRUE(eventually([&] {
      const engine::EngineStats stats = server.engine().stats();
      return stats.num_running + stats.num_waiting == 0 && stats.num_used_blocks == 0;
    }));
  }
}

class DyingExecutor final : public executor::ModelExecutor {
 public:
  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan&) override { throw std::runtime_error("device lost"); }
  const StepResult& collect() override { return result_; }

 private:
  StepResult result_;
};

TEST(DyingEngineTest, EveryClientIsToldAndTheServerEndsWithAnError) {
  ScriptedServer server({}, 1, std::make_unique<DyingExecutor>());
  const HttpAnswer answer = testing::http_post(server.port(), kCompletions, R"({"prompt":"x"})");
  EXPECT_EQ(answer.status, 500);
  const Status ended = server.server().wait();
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace tvllm::server
