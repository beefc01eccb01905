// SPDX-License-Identifier: Apache-2.0
// What the engine thread spends on scheduling: plan() and apply() of one step in which all
// sequences decode, and the hash of a block.
//
//   cmake --preset release -DTVLLM_BENCH=ON && cmake --build --preset release --target
//   scheduler_bench build/release/bin/scheduler_bench
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine_options.h"
#include "core/request.h"
#include "core/step_plan.h"
#include "core/step_result.h"
#include "core/token_event.h"
#include "kv_cache/block_hash.h"
#include "scheduler/scheduler.h"

namespace tvllm {
namespace {

constexpr std::int32_t kPromptLen = 512;

std::shared_ptr<const Request> make_request(TokenId first_token) {
  auto request = std::make_shared<Request>();
  for (std::int32_t i = 0; i < kPromptLen; ++i)
    request->prompt_token_ids.push_back(first_token + i);
  request->sampling.max_tokens = 1 << 20;
  return request;
}

// An executor that costs nothing.
void answer(const StepPlan& plan, StepResult& result) {
  result.step_id = plan.step_id;
  result.sequences.resize(plan.sequences.size());
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    result.sequences[i].seq_id = plan.sequences[i].seq_id;
    result.sequences[i].token_id = plan.sequences[i].samples_token ? 5 : kNoToken;
  }
}

// Arguments: running sequences, prefix caching. Contexts grow from 512 tokens to about 1,500; each
// block boundary takes, hashes and indexes a block.
void BM_DecodeStep(benchmark::State& state) {
  const auto num_seqs = static_cast<std::int32_t>(state.range(0));
  scheduler::Scheduler scheduler({.max_num_seqs = num_seqs,
                                  .max_num_batched_tokens = num_seqs * kPromptLen,
                                  .max_model_len = 4096,
                                  .num_blocks = num_seqs * 256,
                                  .enable_prefix_caching = state.range(1) != 0},
                                 {});
  for (std::int32_t i = 0; i < num_seqs; ++i) {
    scheduler.add(SeqId(static_cast<std::uint64_t>(i) + 1), make_request(i));
  }
  StepPlan plan;
  StepResult result;
  std::vector<TokenEvent> events;
  scheduler.plan(plan);
  answer(plan, result);
  scheduler.apply(plan, result, events);
  for (auto _ : state) {
    scheduler.plan(plan);
    answer(plan, result);
    events.clear();
    scheduler.apply(plan, result, events);
  }
  if (plan.num_tokens() != num_seqs) state.SkipWithError("not everybody decodes");
}
BENCHMARK(BM_DecodeStep)
    ->ArgNames({"seqs", "caching"})
    ->ArgsProduct({{1, 32, 256}, {0, 1}})
    ->Iterations(1000)
    ->Unit(benchmark::kMicrosecond);

// A prompt at the head of the queue is looked up in each step until there is room for it.
void BM_FindHit(benchmark::State& state) {
  const auto num_tokens = static_cast<std::int32_t>(state.range(0));
  kv_cache::KvCacheManager kv(
      {.block_size = 16, .num_blocks = 4096, .enable_prefix_caching = true});
  std::vector<TokenId> tokens(static_cast<std::size_t>(num_tokens) + 1);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<TokenId>(i);
  kv_cache::HashChain chain;
  kv_cache::PrefixHit hit;
  kv.extend(chain, {tokens, {}}, "");
  kv.add_sequence(SeqId(1), num_tokens);
  if (!kv.allocate_slots(SeqId(1), num_tokens)) state.SkipWithError("the pool is too small");
  kv.index_blocks(SeqId(1), chain, {tokens, {}}, num_tokens);
  for (auto _ : state) {
    kv.find_hit(chain, {tokens, {}}, num_tokens, hit);
    benchmark::DoNotOptimize(hit.num_tokens);
  }
  if (hit.num_tokens != num_tokens) state.SkipWithError("no hit");
}
BENCHMARK(BM_FindHit)->ArgName("tokens")->Arg(512)->Arg(8192)->Unit(benchmark::kMicrosecond);

void BM_HashBlock(benchmark::State& state) {
  kv_cache::BlockHasher hasher(1);
  kv_cache::BlockHash hash = hasher.root({});
  const std::vector<TokenId> tokens(static_cast<std::size_t>(state.range(0)), 7);
  for (auto _ : state) {
    hash = hasher.child(hash, tokens);
    benchmark::DoNotOptimize(hash);
  }
}
BENCHMARK(BM_HashBlock)->ArgName("tokens")->Arg(16)->Arg(64)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace tvllm

BENCHMARK_MAIN();
