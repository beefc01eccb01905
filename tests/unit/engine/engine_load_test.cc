// SPDX-License-Identifier: Apache-2.0
// Many requests at once through the engine core, with a scripted model: what one gets does not
// depend on the others, what cannot fit stops nobody, and no block is lost however a request ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_core.h"
#include "output/output_processor.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/make_scheduler.h"
#include "tests/support/scripted_executor.h"

namespace tvllm::engine {
namespace {

using testing::make_request;
using testing::RequestSpec;
using testing::SchedulerSpec;
using testing::ScriptedExecutor;

// What a client keeps of its answer.
struct Answer {
  std::vector<TokenId> tokens;
  std::int32_t num_logprobs = 0;
  std::int32_t num_prompt_rows = 0;
  std::int32_t num_ends = 0;
  FinishReason reason = FinishReason::kNone;

  friend bool operator==(const Answer&, const Answer&) = default;
};

// The engine core over a scheduler and a scripted model, and the clients of both.
class Engine final : public TokenEventSink {
 public:
  Engine(const SchedulerSpec& spec, int depth)
      : scheduler_(testing::make_scheduler(spec)),
        executor_({.max_steps_in_flight = depth,
                   .max_num_seqs = spec.max_num_seqs,
                   .max_num_batched_tokens = spec.max_num_batched_tokens,
                   .block_size = spec.block_size,
                   .num_blocks = spec.num_blocks,
                   .vocab_size = testing::kByteVocabSize}),
        core_(*scheduler_, executor_) {}

  void publish(std::span<TokenEvent> events) noexcept override {
    for (TokenEvent& event : events) {
      Answer& answer = answers[event.seq_id];
      if (event.token_id != kNoToken) {
        if (answer.tokens.empty()) first_tokens.push_back(event.seq_id);
        answer.tokens.push_back(event.token_id);
      }
      answer.num_logprobs += event.has_logprobs ? 1 : 0;
      answer.num_prompt_rows += static_cast<std::int32_t>(event.prompt_logprobs.size());
      if (event.finish_reason != FinishReason::kNone) {
        ++answer.num_ends;
        answer.reason = event.finish_reason;
      }
      last_events.push_back(std::move(event));
    }
  }

  SeqId add(std::shared_ptr<const Request> request) {
    const SeqId seq_id(++num_added_);
    core_.add({seq_id, std::move(request), this});
    return seq_id;
  }
  void step() {
    last_events.clear();
    core_.step();
    ASSERT_EQ(executor_.violation(), "");
  }
  void run_until_idle() {
    for (int i = 0; core_.has_work(); ++i) {
      ASSERT_LT(i, 100'000) << "the engine does not come to rest";
      ASSERT_NO_FATAL_FAILURE(step());
    }
  }
  void expect_nothing_left() {
    scheduler_->check_invariants();
    const scheduler::SchedulerStats stats = scheduler_->stats();
    EXPECT_EQ(stats.num_used_blocks, 0);
    EXPECT_EQ(stats.num_running + stats.num_waiting, 0);
    EXPECT_EQ(stats.num_cached_blocks + scheduler_->kv_cache().num_free_blocks(), stats.num_blocks);
    for (const auto& [seq_id, answer] : answers)
      EXPECT_EQ(answer.num_ends, 1) << "sequence " << seq_id.value();
  }

  EngineCore& core() { return core_; }
  ScriptedExecutor& executor() { return executor_; }
  scheduler::Scheduler& scheduler() { return *scheduler_; }

  std::map<SeqId, Answer> answers;
  std::vector<SeqId> first_tokens;  // whose they were, in order
  std::vector<TokenEvent> last_events;

 private:
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  ScriptedExecutor executor_;
  EngineCore core_;
  std::uint64_t num_added_ = 0;
};

class EngineLoadTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Depths, EngineLoadTest, ::testing::Values(1, 2),
                         ::testing::PrintToStringParamName());

std::shared_ptr<const Request> request_of(const RequestSpec& spec, std::uint64_t seed) {
  auto request = std::make_shared<Request>(*make_request(spec));
  request->sampling.seed = seed;
  if (seed % 2 == 0) request->sampling.num_logprobs = 2;
  return request;
}

// --- case KV-01 ---

// 80 requests of 5 to 900 tokens, a third of which begin alike.
std::vector<std::shared_ptr<const Request>> eighty_requests() {
  std::vector<std::shared_ptr<const Request>> requests;
  for (std::uint64_t i = 0; i < 80; ++i) {
    const auto length = static_cast<std::int32_t>(5 + i * 895 / 79);
    const auto first = static_cast<TokenId>(i % 3 == 0 ? 100 : 1000 * i);
    RequestSpec spec{.prompt_len = length, .max_tokens = 24, .first_token = first};
    if (i % 10 == 9) spec.num_prompt_logprobs = 0;
    requests.push_back(request_of(spec, i));
  }
  return requests;
}

TEST_P(EngineLoadTest, TogetherEachGetsWhatItGetsAlone) {
  const auto requests = eighty_requests();
  for (const bool caches : {true, false}) {
    const SchedulerSpec spec{.max_num_seqs = 32,
                             .max_num_batched_tokens = 256,
                             .max_model_len = 1024,
                             .block_size = 16,
                             .num_blocks = 200,
                             .enable_prefix_caching = caches};
    std::vector<Answer> alone;
    Engine serial(spec, GetParam());
    for (const auto& request : requests) {
      const SeqId seq_id = serial.add(request);
      ASSERT_NO_FATAL_FAILURE(serial.run_until_idle());
      alone.push_back(serial.answers[seq_id]);
    }
    Engine crowd(spec, GetParam());
    std::mt19937 rng(1);
    for (int round = 0; round < 3; ++round) {
      std::vector<SeqId> seq_ids;
      for (const auto& request : requests) {
        seq_ids.push_back(crowd.add(request));
        for (unsigned steps = rng() % 3; steps > 0; --steps)
          ASSERT_NO_FATAL_FAILURE(crowd.step());
      }
      ASSERT_NO_FATAL_FAILURE(crowd.run_until_idle());
      for (std::size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ(crowd.answers[seq_ids[i]], alone[i]) << "request " << i << ", round " << round;
    }
    EXPECT_GT(crowd.scheduler().stats().num_preemptions, 0u) << "the pool is too large";
    crowd.expect_nothing_left();
  }
}

// --- case KV-03 ---

const SchedulerSpec kSmallPool{.max_num_seqs = 32,
                               .max_num_batched_tokens = 512,
                               .max_model_len = 8192,
                               .block_size = 16,
                               .num_blocks = 64,
                               .watermark = 0.01f};

TEST_P(EngineLoadTest, WhatNeverFitsIsRefusedAndNamesBothLengths) {
  Engine engine(kSmallPool, GetParam());
  for (const auto& [prompt_len, max_tokens] : {std::pair{1500, 10}, {900, 4000}, {1024, 1}}) {
    const Status status = engine.scheduler().check_fits(
        *make_request({.prompt_len = prompt_len, .max_tokens = max_tokens}));
    ASSERT_FALSE(status.has_value()) << prompt_len;
    EXPECT_EQ(status.error().code, ErrorCode::kContextLength);
    EXPECT_NE(status.error().message.find(std::to_string(prompt_len)), std::string::npos);
    EXPECT_NE(status.error().message.find("1024"), std::string::npos);
  }
}

TEST_P(EngineLoadTest, ChoicesThatEachFillThePoolRunOneAfterAnother) {
  Engine engine(kSmallPool, GetParam());
  for (std::uint64_t choice = 0; choice < 4; ++choice)
    engine.add(request_of({.prompt_len = 1000, .max_tokens = 24, .ignore_eos = true}, choice));
  ASSERT_NO_FATAL_FAILURE(engine.run_until_idle());
  for (const auto& [seq_id, answer] : engine.answers)
    EXPECT_EQ(answer.tokens.size(), 24u);
  engine.expect_nothing_left();
}

// Without a clock: while somebody waits somebody runs, and first tokens come in order of arrival.
TEST_P(EngineLoadTest, FortyInATightPoolAllEndAndNobodyIsOvertaken) {
  Engine engine(kSmallPool, GetParam());
  for (std::uint64_t i = 0; i < 40; ++i) {
    const RequestSpec spec{
        .prompt_len = i == 20 ? 1500 : 200, .max_tokens = 50, .ignore_eos = true};
    const auto request = request_of(spec, i);
    if (engine.scheduler().check_fits(*request)) engine.add(request);
  }
  while (engine.core().has_work()) {
    ASSERT_NO_FATAL_FAILURE(engine.step());
    const scheduler::SchedulerStats stats = engine.scheduler().stats();
    if (GetParam() == 1 && stats.num_running == 0 && stats.num_waiting > 0) {
      EXPECT_FALSE(engine.last_events.empty()) << "only the step in which the last one ended";
    }
  }
  EXPECT_EQ(engine.answers.size(), 39u);
  for (const auto& [seq_id, answer] : engine.answers)
    EXPECT_EQ(answer.tokens.size(), 50u);
  EXPECT_TRUE(std::is_sorted(engine.first_tokens.begin(), engine.first_tokens.end()));
  engine.expect_nothing_left();
}

// --- case KV-05 ---

// A request with the front end's half of its answer, which cancels at a stop string.
struct Client {
  output::OutputProcessor processor;
  int num_steps_to_live;  // then it goes away
};

// One of the case's mixture: normal, aborted after a while, invalid, ended by a stop string, and
// without valid logits. Half begin alike; some come twice, as the choices of one request.
class Soak {
 public:
  Soak(Engine& engine, const tokenizer::Tokenizer& tokenizer)
      : engine_(engine), tokenizer_(tokenizer) {}

  void run(int num_requests) {
    for (int i = 0; i < num_requests; ++i) {
      arrive(static_cast<std::uint64_t>(i) + 1);
      for (unsigned steps = dice_() % 3; steps > 0; --steps)
        ASSERT_NO_FATAL_FAILURE(step());
    }
    while (engine_.core().has_work())
      ASSERT_NO_FATAL_FAILURE(step());
  }

  int num_refused = 0;
  int num_stopped = 0;
  int num_left = 0;

 private:
  void arrive(std::uint64_t seed) {
    const unsigned kind = dice_() % 100;
    if (kind < 10) {  // invalid
      const auto wrong = make_request({.prompt_len = static_cast<std::int32_t>(kind % 2 * 2000)});
      num_refused += engine_.scheduler().check_fits(*wrong) ? 0 : 1;
      return;
    }
    RequestSpec spec{.prompt_len = static_cast<std::int32_t>(1 + dice_() % 120),
                     .max_tokens = static_cast<std::int32_t>(1 + dice_() % 40)};
    if (dice_() % 2 == 0) spec.first_token = static_cast<TokenId>(1000 * (1 + dice_() % 50));
    if (kind >= 90) engine_.executor().fail_at(seed, static_cast<std::int32_t>(kind % 5));
    output::OutputOptions options;
    if (kind >= 10 && kind < 20)
      options.stop = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    const int num_choices = dice_() % 4 == 0 ? 2 : 1;
    for (int choice = 0; choice < num_choices; ++choice) {
      auto request = std::make_shared<Request>(*request_of(spec, seed));
      request->sampling.choice_index = static_cast<std::uint32_t>(choice);
      const bool leaves = kind >= 20 && kind < 40;
      clients_.emplace(engine_.add(request),
                       Client{output::OutputProcessor(tokenizer_, options),
                              leaves ? static_cast<int>(dice_() % 30) : 1'000'000});
    }
  }

  void step() {
    for (auto& [seq_id, client] : clients_) {
      if (client.num_steps_to_live-- != 0) continue;
      engine_.core().cancel(seq_id);
      ++num_left;
    }
    ASSERT_NO_FATAL_FAILURE(engine_.step());
    engine_.scheduler().check_invariants();
    for (TokenEvent& event : engine_.last_events) {
      const SeqId seq_id = event.seq_id;
      const bool is_over = event.finish_reason != FinishReason::kNone;
      if (clients_.at(seq_id).processor.process(std::move(event)).should_cancel) {
        engine_.core().cancel(seq_id);
        ++num_stopped;
      }
      if (is_over) clients_.erase(seq_id);
    }
  }

  Engine& engine_;
  const tokenizer::Tokenizer& tokenizer_;
  std::mt19937 dice_{5};
  std::map<SeqId, Client> clients_;
};

TEST_P(EngineLoadTest, NoBlockIsLostOverAbortsErrorsStopStringsAndEnds) {
  const auto tokenizer = testing::make_byte_tokenizer();
  for (const bool caches : {true, false}) {
    Engine engine({.max_num_seqs = 24,
                   .max_num_batched_tokens = 128,
                   .max_model_len = 512,
                   .block_size = 16,
                   .num_blocks = 64,
                   .enable_prefix_caching = caches},
                  GetParam());
    Soak soak(engine, *tokenizer);
    ASSERT_NO_FATAL_FAILURE(soak.run(2000));
    EXPECT_GT(soak.num_refused, 100);
    EXPECT_GT(soak.num_stopped, 100);
    EXPECT_GT(soak.num_left, 200);
    EXPECT_GT(engine.scheduler().stats().num_preemptions, 20u);
    engine.expect_nothing_left();
    EXPECT_EQ(engine.scheduler().stats().num_cached_blocks > 0, caches);

    // What is cached can be had: these two need the whole pool.
    for (std::uint64_t i = 0; i < 2; ++i)
      engine.add(request_of({.prompt_len = 511, .max_tokens = 1, .first_token = 90'000}, i));
    ASSERT_NO_FATAL_FAILURE(engine.run_until_idle());
    engine.expect_nothing_left();
  }
}

// --- issue 4: all streams leave at once ---

TEST_P(EngineLoadTest, ClosingTwoThousandStreamsFreesAllBlocksWithinTwoSteps) {
  constexpr std::int32_t kNumStreams = 2000;
  Engine engine({.max_num_seqs = kNumStreams,
                 .max_num_batched_tokens = 4096,
                 .max_model_len = 256,
                 .block_size = 16,
                 .num_blocks = 20'000,
                 .enable_prefix_caching = true},
                GetParam());
  for (std::uint64_t i = 0; i < kNumStreams; ++i) {
    const auto first = static_cast<TokenId>(i % 2 == 0 ? 100 : 100 * i);
    engine.add(request_of(
        {.prompt_len = 40, .max_tokens = 200, .ignore_eos = true, .first_token = first}, i));
  }
  const SeqId waiting = engine.add(request_of({.prompt_len = 40}, 7));
  for (int i = 0; i < 60; ++i)
    ASSERT_NO_FATAL_FAILURE(engine.step());
  ASSERT_EQ(engine.scheduler().stats().num_running, kNumStreams);
  ASSERT_EQ(engine.scheduler().stats().num_waiting, 1);

  for (std::uint64_t i = 1; i <= waiting.value(); ++i)
    engine.core().cancel(SeqId(i));
  ASSERT_NO_FATAL_FAILURE(engine.step());
  ASSERT_NO_FATAL_FAILURE(engine.step());
  EXPECT_FALSE(engine.core().has_work());
  EXPECT_EQ(engine.answers.size(), kNumStreams + 1u);
  for (const auto& [seq_id, answer] : engine.answers)
    EXPECT_EQ(answer.reason, FinishReason::kAbort);
  engine.expect_nothing_left();
}

}  // namespace
}  // namespace tvllm::engine
