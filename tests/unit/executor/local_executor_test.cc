// SPDX-License-Identifier: Apache-2.0
// The whole path from a plan to tokens on a tiny random model: what a sequence gets must not
// depend, bit for bit, on what else is in the batch, on chunks, blocks or threads.
#include "executor/local_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/clock.h"
#include "base/philox.h"
#include "base/thread_pool.h"
#include "core/step_timings.h"
#include "engine/engine_core.h"
#include "loader/load_model_file.h"
#include "model/model.h"
#include "scheduler/scheduler.h"
#include "tests/support/temp_path.h"
#include "tests/support/tiny_gemma.h"
#include "tests/support/tiny_llama.h"

namespace tvllm::executor {
namespace {

constexpr std::int32_t kMaxLogitRows = 8;  // small, so that prompts take several chunks of rows

// Written once, by whoever asks first.
const std::string& llama_path() {
  static const testing::TempPath path("local_executor_test.gguf");
  static std::once_flag written;
  std::call_once(written, [] { testing::write_tiny_llama(path.str(), 1); });
  return path.str();
}

const std::string& gemma_path() {
  static const testing::TempPath path("local_executor_test_gemma.gguf");
  static std::once_flag written;
  std::call_once(written, [] { testing::write_file(path.str(), testing::tiny_gemma(1).build()); });
  return path.str();
}

struct RunConfig {
  cpu::CpuIsa isa = cpu::CpuIsa::kReference;
  int num_threads = 1;
  std::int32_t block_size = 16;
  std::int32_t num_blocks = 256;
  std::int32_t token_budget = 512;
  backend::KvDType kv_dtype = backend::KvDType::kF32;
  bool enable_prefix_caching = true;
  const std::string& model_path = llama_path();
  bool frees_behind_windows = true;
  scheduler::SchedulerStats* stats = nullptr;  // where to put those at the end
  std::vector<StepReport>* reports = nullptr;  // where to put each step's
  const Clock& clock = steady_clock();
};

class CollectingSink final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override {
    for (TokenEvent& event : events)
      by_sequence[event.seq_id].push_back(std::move(event));
  }
  std::map<SeqId, std::vector<TokenEvent>> by_sequence;
};

// Everything a client sees of a sequence, as exact bits.
std::string fingerprint(const std::vector<TokenEvent>& events) {
  std::string text;
  const auto append = [&text](const PositionLogprobs& position) {
    str_append(text, position.token.token_id, ":",
               std::bit_cast<std::uint32_t>(position.token.logprob));
    for (const TokenLogprob& top : position.top) {
      str_append(text, ",", top.token_id, ":", std::bit_cast<std::uint32_t>(top.logprob));
    }
    text += ' ';
  };
  for (const TokenEvent& event : events) {
    for (const PositionLogprobs& position : event.prompt_logprobs)
      append(position);
    if (event.has_logprobs) append(event.logprobs);
    if (event.finish_reason == FinishReason::kError) str_append(text, event.error_message);
  }
  return text;
}

std::shared_ptr<const Request> make_request(std::uint32_t seed, std::int32_t prompt_len,
                                            std::int32_t max_tokens) {
  auto request = std::make_shared<Request>();
  for (std::int32_t i = 0; i < prompt_len; ++i) {
    const auto word = philox4x32({seed, static_cast<std::uint32_t>(i), 0, 0}, {7, 7})[0];
    request->prompt_token_ids.push_back(static_cast<TokenId>(word % 300));
  }
  request->sampling.temperature = seed % 2 == 0 ? 0.0f : 1.0f;
  request->sampling.seed = seed;
  request->sampling.repetition_penalty = seed % 3 == 0 ? 1.2f : 1.0f;
  request->sampling.max_tokens = max_tokens;
  request->sampling.ignore_eos = true;
  request->sampling.num_logprobs = 3;
  request->sampling.num_prompt_logprobs = 2;
  return request;
}

// Runs the requests together from their start to their end; the fingerprint of each.
std::vector<std::string> run(const RunConfig& config,
                             const std::vector<std::shared_ptr<const Request>>& requests) {
  Result<loader::ModelFile> file = loader::load_model_file(config.model_path);
  EXPECT_TRUE(file.has_value());
  ThreadPool pool(config.num_threads);
  const std::unique_ptr<backend::Backend> backend =
      *cpu::make_cpu_backend({.isa = config.isa}, pool);
  std::unique_ptr<model::Model> model =
      *model::make_model(file->config, *file->weights, *backend,
                         {.max_num_tokens = config.token_budget, .max_logit_rows = kMaxLogitRows});
  const model::KvGroups groups = model->kv_groups();
  std::unique_ptr<backend::KvCache> cache =
      *backend->make_kv_cache({.num_layers = groups.num_layers,
                               .num_kv_heads = groups.num_kv_heads,
                               .head_dim = groups.head_dim,
                               .block_size = config.block_size,
                               .num_blocks = config.num_blocks + 1,
                               .dtype = config.kv_dtype});
  std::vector<std::int32_t> kv_windows = groups.windows;
  if (!config.frees_behind_windows) kv_windows.assign(kv_windows.size(), 0);
  const std::int32_t max_num_seqs = 16;
  LocalExecutor executor(std::move(model), std::move(cache), *backend, pool,
                         {.max_num_seqs = max_num_seqs,
                          .block_size = config.block_size,
                          .max_logit_rows = kMaxLogitRows,
                          .eos_token_ids = file->config.eos_token_ids},
                         config.clock);
  scheduler::Scheduler scheduler({.max_num_seqs = max_num_seqs,
                                  .max_num_batched_tokens = config.token_budget,
                                  .max_model_len = 1024,
                                  .num_kv_groups = static_cast<std::int32_t>(kv_windows.size()),
                                  .kv_windows = kv_windows,
                                  .block_size = config.block_size,
                                  .num_blocks = config.num_blocks,
                                  .enable_prefix_caching = config.enable_prefix_caching},
                                 file->config.eos_token_ids);
  CollectingSink sink;
  engine::EngineCore core(scheduler, executor);
  for (std::size_t i = 0; i < requests.size(); ++i)
    core.add({SeqId(i + 1), requests[i], &sink});
  while (core.has_work()) {
    core.step();
    if (config.reports != nullptr) config.reports->push_back(core.last_step());
  }
  if (config.stats != nullptr) *config.stats = scheduler.stats();
  std::vector<std::string> prints;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    prints.push_back(fingerprint(sink.by_sequence[SeqId(i + 1)]));
  }
  return prints;
}

std::vector<std::shared_ptr<const Request>> mixed_requests() {
  std::vector<std::shared_ptr<const Request>> requests;
  const std::vector<std::int32_t> prompt_lens = {1, 37, 5, 300, 16, 17, 64, 2, 129};
  for (std::size_t i = 0; i < prompt_lens.size(); ++i) {
    requests.push_back(make_request(static_cast<std::uint32_t>(i + 1), prompt_lens[i],
                                    static_cast<std::int32_t>(6 + i)));
  }
  return requests;
}

class BitIdentityTest : public ::testing::TestWithParam<cpu::CpuIsa> {
 protected:
  // What each request gets alone, in whole prompts, on one thread.
  std::vector<std::string> alone(RunConfig config) {
    std::vector<std::string> prints;
    for (const auto& request : requests_)
      prints.push_back(run(config, {request}).front());
    return prints;
  }
  RunConfig config(RunConfig from = {}) const {
    from.isa = GetParam();
    return from;
  }

  const std::vector<std::shared_ptr<const Request>> requests_ = mixed_requests();
};

INSTANTIATE_TEST_SUITE_P(Isas, BitIdentityTest, ::testing::ValuesIn(cpu::available_cpu_isas()),
                         [](const auto& isa) { return std::string(cpu::cpu_isa_name(isa.param)); });

TEST_P(BitIdentityTest, AloneEqualsTogether) {
  EXPECT_EQ(run(config(), requests_), alone(config()));
}

TEST_P(BitIdentityTest, ChunksDoNotMatter) {
  const std::vector<std::string> whole = alone(config());
  EXPECT_EQ(run(config({.token_budget = 16}), requests_), whole);
  EXPECT_EQ(run(config({.token_budget = 31}), requests_), whole);
}

TEST_P(BitIdentityTest, ThreadsDoNotMatter) {
  const std::vector<std::string> one = run(config(), requests_);
  EXPECT_EQ(run(config({.num_threads = 2}), requests_), one);
  EXPECT_EQ(run(config({.num_threads = 3}), requests_), one);
}

TEST_P(BitIdentityTest, BlockSizeDoesNotMatter) {
  const std::vector<std::string> sixteen = run(config(), requests_);
  EXPECT_EQ(run(config({.block_size = 4, .num_blocks = 1024}), requests_), sixteen);
  EXPECT_EQ(run(config({.block_size = 128}), requests_), sixteen);
}

// 30 blocks hold the longest request and a little more: most sequences are preempted and resumed.
TEST_P(BitIdentityTest, PreemptionDoesNotMatter) {
  EXPECT_EQ(run(config({.num_blocks = 22}), requests_), run(config(), requests_));
}

// Twelve requests of up to 140 prompt tokens that begin alike for 16 to 124 tokens.
std::vector<std::shared_ptr<const Request>> related_requests() {
  std::vector<std::shared_ptr<const Request>> requests;
  const std::vector<TokenId> opening = make_request(1, 140, 1)->prompt_token_ids;
  for (std::uint32_t i = 0; i < 12; ++i) {
    auto request = std::make_shared<Request>(*make_request(i + 2, 140, 60));
    std::copy_n(opening.begin(), 16 + 36 * (i % 4), request->prompt_token_ids.begin());
    request->prompt_token_ids.resize(110 + 10 * (i % 4));
    request->sampling.num_prompt_logprobs.reset();  // those read no cache
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST_P(BitIdentityTest, PrefixHitsDoNotMatter) {
  const std::vector<std::shared_ptr<const Request>> related = related_requests();
  scheduler::SchedulerStats stats;
  const std::vector<std::string> computed =
      run(config({.enable_prefix_caching = false, .stats = &stats}), related);
  EXPECT_EQ(stats.num_prefix_hits, 0u);
  EXPECT_EQ(run(config({.token_budget = 64, .stats = &stats}), related), computed);
  EXPECT_GT(stats.num_prefix_hits, 300u);
  EXPECT_EQ(stats.num_preemptions, 0u);
  // A pool of a few sequences: blocks are evicted, and sequences preempted and resumed.
  EXPECT_EQ(run(config({.num_blocks = 26, .token_budget = 64, .stats = &stats}), related),
            computed);
  EXPECT_GT(stats.num_prefix_hits, 100u);
  EXPECT_GT(stats.num_preemptions, 0u);
  EXPECT_GT(stats.num_resumed_prefix_hits, 0u);
}

TEST_P(BitIdentityTest, HalfPrecisionKvGivesTheSameBitsInAnyBatch) {
  const RunConfig half = config({.kv_dtype = backend::KvDType::kF16});
  EXPECT_EQ(run(half, requests_), alone(half));
  EXPECT_NE(run(half, requests_), run(config(), requests_)) << "f16 is not in use";
}

// Whoever reads a block that its window has passed reads what somebody else wrote there.
TEST_P(BitIdentityTest, BlocksBehindAWindowAreNotMissed) {
  const auto gemma = [&](RunConfig from) {
    return RunConfig{.isa = GetParam(),
                     .num_threads = from.num_threads,
                     .block_size = from.block_size,
                     .num_blocks = from.num_blocks,
                     .token_budget = from.token_budget,
                     .model_path = gemma_path(),
                     .frees_behind_windows = from.frees_behind_windows,
                     .stats = from.stats};
  };
  const std::vector<std::string> kept =
      run(gemma({.num_blocks = 1024, .frees_behind_windows = false}), requests_);
  EXPECT_EQ(run(gemma({.num_blocks = 1024}), requests_), kept);
  EXPECT_EQ(alone(gemma({.num_threads = 2})), kept);
  EXPECT_EQ(run(gemma({.token_budget = 16}), requests_), kept);
  EXPECT_EQ(run(gemma({.num_threads = 2, .token_budget = 31}), requests_), kept);
  EXPECT_EQ(run(gemma({.block_size = 4, .num_blocks = 1024}), requests_), kept);
  EXPECT_EQ(run(gemma({.block_size = 128, .num_blocks = 64}), requests_), kept);
  // The longest request has 20 blocks of the first group and at most 6 of each other one.
  scheduler::SchedulerStats stats;
  EXPECT_EQ(run(gemma({.num_blocks = 40, .token_budget = 16, .stats = &stats}), requests_), kept);
  EXPECT_GT(stats.num_preemptions, 0u);
}

TEST_P(BitIdentityTest, PrefixHitsOfWindowsDoNotMatter) {
  const std::vector<std::shared_ptr<const Request>> related = related_requests();
  scheduler::SchedulerStats stats;
  const auto gemma = [&](std::int32_t num_blocks, bool caches) {
    return run({.isa = GetParam(),
                .num_blocks = num_blocks,
                .token_budget = 64,
                .enable_prefix_caching = caches,
                .model_path = gemma_path(),
                .stats = &stats},
               related);
  };
  const std::vector<std::string> computed = gemma(1024, false);
  EXPECT_EQ(gemma(1024, true), computed);
  EXPECT_GT(stats.num_prefix_hits, 300u);
  EXPECT_EQ(gemma(60, true), computed);
  EXPECT_GT(stats.num_prefix_hits, 50u);
}

// Moves by one nanosecond whenever it is read, so a phase takes as many as it has borders.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::nanoseconds(1); }

 private:
  mutable TimePoint now_{};
};

TEST(LocalExecutor, TimesItsPhasesWithOneClockReadingABorder) {
  const TickingClock clock;
  std::vector<StepReport> reports;
  // 20 prompt tokens in chunks of 16: 16 rows, then 4 of which the last one is sampled too. Each
  // reading for prompt log-probabilities takes kMaxLogitRows = 8 rows.
  const auto request = make_request(2, 20, 2);
  run({.token_budget = 16, .reports = &reports, .clock = clock}, {request});
  // Two chunks, the second output, and a plan that only gives the state slot back.
  ASSERT_EQ(reports.size(), 4u);
  const auto ticks = [](std::int64_t build, std::int64_t forward, std::int64_t sample) {
    return std::vector<std::int64_t>{build, forward, sample};
  };
  const auto of = [&reports](std::size_t i) {
    const ExecutionTimings& timings = reports[i].timings.execution;
    return std::vector<std::int64_t>{timings.build.count(), timings.forward.count(),
                                     timings.sample.count()};
  };
  EXPECT_EQ(of(0), ticks(1, 1 + 2, 2 + 1));  // 16 rows of logits: two readings
  EXPECT_EQ(of(1), ticks(1, 1 + 1, 1 + 1));  // 3 judged, 1 sampled
  EXPECT_EQ(of(2), ticks(1, 1 + 1, 1 + 1));
  EXPECT_EQ(reports[3].num_sequences, 0);
  EXPECT_EQ(of(3), ticks(0, 0, 0));
}

}  // namespace
}  // namespace tvllm::executor
