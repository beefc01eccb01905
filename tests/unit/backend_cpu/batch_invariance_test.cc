// SPDX-License-Identifier: Apache-2.0
// A token's logits have the same bits alone and among others, whole and in chunks, on one thread
// and on several.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "tests/support/ops/ragged_batch.h"
#include "tests/unit/backend_cpu/tiny_model.h"

namespace tvllm::testing {
namespace {

using backend::KvDType;
using cpu::CpuIsa;

// Kernels are ten times slower under a sanitizer, and what it looks for does not depend on the type
// of the cache.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TVLLM_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TVLLM_SANITIZED)
const std::vector<KvDType> kKvDTypes = {KvDType::kF16};
const std::vector<std::int32_t> kChunks = {3, 16};
#else
const std::vector<KvDType> kKvDTypes = {KvDType::kF32, KvDType::kF16, KvDType::kBF16};
const std::vector<std::int32_t> kChunks = {1, 3, 7, 16, 100};
#endif

constexpr std::int32_t kBlockSize = 16;
constexpr std::int32_t kMaxTokens = 640;

// Logits of all positions of one sequence, [num_tokens][vocabulary].
using Logits = std::vector<std::vector<float>>;

std::vector<float> row_of(const FloatMatrix& logits, std::int64_t row) {
  return {logits.row(row), logits.row(row) + logits.num_cols};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Backend, model and cache on a pool of their own.
struct Engine {
  Engine(CpuIsa isa, int num_threads, KvDType kv_dtype)
      : pool(num_threads),
        backend(std::move(*cpu::make_cpu_backend({.isa = isa}, pool))),
        model(*backend, {.max_tokens = kMaxTokens,
                         .num_blocks = 256,
                         .block_size = kBlockSize,
                         .kv_dtype = kv_dtype}) {}

  ThreadPool pool;
  std::unique_ptr<backend::Backend> backend;
  TinyModel model;
};

// One sequence on its way through a model, and what is expected of it.
struct Sequence {
  std::vector<TokenId> token_ids;
  std::vector<BlockId> blocks;
  std::int32_t num_computed = 0;
  Logits expected;

  std::int32_t num_left() const {
    return static_cast<std::int32_t>(token_ids.size()) - num_computed;
  }
  SequenceSpan next(std::int32_t num_new) const {
    const auto first = token_ids.begin() + num_computed;
    return {num_computed + num_new, num_new, blocks, {first, first + num_new}};
  }
};

Sequence make_sequence(std::int32_t len, std::uint32_t seed) {
  Sequence sequence;
  sequence.token_ids = random_integers(static_cast<std::size_t>(len), TinyModel::kVocabSize, seed);
  return sequence;
}

// All tokens in one batch, nobody else in it.
void expect_alone(Engine& engine, Sequence& sequence) {
  const auto len = static_cast<std::int32_t>(sequence.token_ids.size());
  BlockDealer dealer(256, kBlockSize, 5);
  sequence.blocks = dealer.take(len);
  RaggedBatch batch(kBlockSize);
  batch.add(sequence.next(len));
  const FloatMatrix logits = engine.model.forward(batch.view());
  for (std::int64_t t = 0; t < len; ++t) {
    sequence.expected.push_back(row_of(logits, t));
  }
}

// Computes `chunks[i]` tokens of sequence i in one batch, in the order given, and compares.
void step(Engine& engine, std::vector<Sequence>& sequences, const std::vector<std::size_t>& order,
          const std::vector<std::int32_t>& chunks) {
  RaggedBatch batch(kBlockSize);
  for (const std::size_t i : order) {
    if (chunks[i] > 0) batch.add(sequences[i].next(chunks[i]));
  }
  const FloatMatrix logits = engine.model.forward(batch.view());
  std::int64_t row = 0;
  for (const std::size_t i : order) {
    for (std::int32_t n = 0; n < chunks[i]; ++n, ++row) {
      const std::int32_t position = sequences[i].num_computed++;
      ASSERT_TRUE(
          same_bits(row_of(logits, row), sequences[i].expected[static_cast<std::size_t>(position)]))
          << "sequence " << i << ", position " << position;
    }
  }
}

// Random chunks of random sequences, some of one token and some of many, until all are computed.
void run_mixed(Engine& engine, std::vector<Sequence> sequences, std::uint32_t seed) {
  std::mt19937 generator(seed);
  BlockDealer dealer(256, kBlockSize, seed);
  for (Sequence& sequence : sequences) {
    sequence.blocks = dealer.take(static_cast<std::int32_t>(sequence.token_ids.size()));
  }
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::int32_t choices[] = {0, 1, 1, 3, 7, 16, 40};
  bool left = true;
  while (left) {
    left = false;
    std::vector<std::int32_t> chunks;
    for (const Sequence& sequence : sequences) {
      chunks.push_back(std::min(sequence.num_left(), choices[generator() % std::size(choices)]));
      left |= sequence.num_left() > 0;
    }
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[generator() % i]);
    }
    ASSERT_NO_FATAL_FAILURE(step(engine, sequences, order, chunks));
  }
}

class BatchInvarianceTest : public ::testing::TestWithParam<std::tuple<CpuIsa, KvDType>> {
 protected:
  CpuIsa isa() const { return std::get<0>(GetParam()); }
  KvDType kv_dtype() const { return std::get<1>(GetParam()); }
};

TEST_P(BatchInvarianceTest, AloneAndAmongSeventeenOthersOnAnyNumberOfThreads) {
  Engine alone(isa(), 1, kv_dtype());
  std::vector<Sequence> sequences;
  for (std::uint32_t i = 0; i < 18; ++i) {
    const std::int32_t len = i == 3 ? 300 : i == 7 ? 530 : static_cast<std::int32_t>(1 + i * 5);
    sequences.push_back(make_sequence(len, 100 + i));
    expect_alone(alone, sequences.back());
  }
  for (const int num_threads : {1, 2, 3}) {
    // The type of the cache has no part in how work is cut: once is enough for the others.
    if (kv_dtype() != KvDType::kF32 && num_threads != 2) continue;
    SCOPED_TRACE(num_threads);
    Engine engine(isa(), num_threads, kv_dtype());
    ASSERT_NO_FATAL_FAILURE(
        run_mixed(engine, sequences, 900 + static_cast<std::uint32_t>(num_threads)));
  }
}

TEST_P(BatchInvarianceTest, WholeAndInChunksOfAnySize) {
  Engine alone(isa(), 1, kv_dtype());
  Sequence sequence = make_sequence(530, 77);
  expect_alone(alone, sequence);
  for (const std::int32_t chunk : kChunks) {
    SCOPED_TRACE(chunk);
    Engine engine(isa(), 2, kv_dtype());
    std::vector<Sequence> sequences = {sequence};
    BlockDealer dealer(256, kBlockSize, 6);
    sequences[0].blocks = dealer.take(530);
    // One by one only around the borders of splits, at 256 and 512.
    if (chunk < 7) {
      ASSERT_NO_FATAL_FAILURE(step(engine, sequences, {0}, {240}));
    }
    while (sequences[0].num_left() > 0) {
      const bool far_from_border = chunk < 7 && sequences[0].num_computed == 270;
      const std::int32_t num_new = far_from_border ? 235 : std::min(chunk, sequences[0].num_left());
      ASSERT_NO_FATAL_FAILURE(step(engine, sequences, {0}, {num_new}));
    }
  }
}

std::string param_name(const ::testing::TestParamInfo<std::tuple<CpuIsa, KvDType>>& tested) {
  const KvDType kv_dtype = std::get<1>(tested.param);
  const char* suffix = kv_dtype == KvDType::kF32 ? "_f32" : "_bf16";
  if (kv_dtype == KvDType::kF16) suffix = "_f16";
  return std::string(cpu::cpu_isa_name(std::get<0>(tested.param))) + suffix;
}

INSTANTIATE_TEST_SUITE_P(Isas, BatchInvarianceTest,
                         ::testing::Combine(::testing::ValuesIn(cpu::available_cpu_isas()),
                                            ::testing::ValuesIn(kKvDTypes)),
                         param_name);

}  // namespace
}  // namespace tvllm::testing
