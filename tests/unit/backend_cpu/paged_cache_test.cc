// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/paged_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "tests/support/ops/naive_ops.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::cpu {
namespace {

using backend::KvCacheSpec;
using backend::KvDType;

KvCacheSpec small_spec() {
  return {.num_layers = 3,
          .num_kv_heads = 2,
          .head_dim = 6,
          .block_size = 4,
          .num_blocks = 5,
          .dtype = KvDType::kF32};
}

std::string error_of(const KvCacheSpec& spec) {
  const auto cache = PagedCache::make(spec);
  return cache.has_value() ? "" : cache.error().message;
}

TEST(PagedCacheTest, ABlockHoldsKAndVOfAllLayersAndHeads) {
  KvCacheSpec spec = small_spec();
  EXPECT_EQ(PagedCache::bytes_per_block(spec), 2u * 3 * 2 * 6 * 4 * 4);
  spec.dtype = KvDType::kBF16;
  EXPECT_EQ(PagedCache::bytes_per_block(spec), 2u * 3 * 2 * 6 * 4 * 2);
}

TEST(PagedCacheTest, CountsOfZeroAndLessAreRefusedByName) {
  const auto with = [](std::int32_t KvCacheSpec::*field, std::int32_t value) {
    KvCacheSpec spec = small_spec();
    spec.*field = value;
    return error_of(spec);
  };
  EXPECT_EQ(with(&KvCacheSpec::num_layers, 0), "kv cache: num_layers is 0, expected at least 1");
  EXPECT_EQ(with(&KvCacheSpec::num_kv_heads, -1),
            "kv cache: num_kv_heads is -1, expected at least 1");
  EXPECT_EQ(with(&KvCacheSpec::head_dim, 0), "kv cache: head_dim is 0, expected at least 1");
  EXPECT_EQ(with(&KvCacheSpec::num_blocks, 0), "kv cache: num_blocks is 0, expected at least 1");
  EXPECT_EQ(with(&KvCacheSpec::block_size, 0), "kv cache: block_size is 0, expected at least 1");
}

TEST(PagedCacheTest, BlockSizesArePowersOfTwoUpToASplit) {
  for (const std::int32_t size : {1, 4, 16, 128, 256}) {
    KvCacheSpec spec = small_spec();
    spec.block_size = size;
    EXPECT_EQ(error_of(spec), "") << size;
  }
  for (const std::int32_t size : {3, 12, 255, 512}) {
    KvCacheSpec spec = small_spec();
    spec.block_size = size;
    EXPECT_EQ(error_of(spec), "kv cache: block_size is " + std::to_string(size) +
                                  ", expected a power of two up to 256");
  }
}

TEST(PagedCacheTest, MoreMemoryThanThereIsAndMoreThanThereAreNumbersForAreErrors) {
  KvCacheSpec spec = small_spec();
  spec.num_layers = spec.num_kv_heads = spec.head_dim = spec.num_blocks = 1 << 30;
  const auto overflowing = PagedCache::make(spec);
  ASSERT_FALSE(overflowing.has_value());
  EXPECT_EQ(overflowing.error().code, ErrorCode::kResourceExhausted);
  spec = small_spec();
  spec.num_layers = 1 << 12;
  spec.head_dim = 1 << 14;
  spec.num_blocks = 1 << 30;
  const auto too_large = PagedCache::make(spec);
  ASSERT_FALSE(too_large.has_value());
  EXPECT_EQ(too_large.error().code, ErrorCode::kResourceExhausted);
}

// Reads element d of K (or of V) of one position.
double element(const KvLayer& layer, bool is_v, std::int64_t slot, std::int32_t head,
               std::int32_t d) {
  const std::int64_t element_bytes = layer.dtype == DType::kF32 ? 4 : 2;
  const std::byte* at = layer.base + slot / layer.block_size * layer.block_bytes +
                        head * layer.head_bytes + (is_v ? layer.v_offset : 0) +
                        (slot % layer.block_size * layer.head_dim + d) * element_bytes;
  float value = 0.0f;
  if (layer.dtype == DType::kF32) {
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  if (layer.dtype == DType::kBF16) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    std::memcpy(&value, &wide, sizeof(value));
    return static_cast<double>(value);
  }
  const int exponent = bits >> 10 & 31;
  const double magnitude = exponent == 0 ? std::ldexp(bits & 1023, -24)
                                         : std::ldexp(1024 + (bits & 1023), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

class WriteKvTest : public ::testing::TestWithParam<KvDType> {};

TEST_P(WriteKvTest, KAndVLandInTheirSlotsRoundedToTheTypeOfTheCache) {
  ThreadPool pool(2);
  auto backend = make_cpu_backend({.isa = CpuIsa::kScalar}, pool);
  ASSERT_TRUE(backend.has_value());
  KvCacheSpec spec = small_spec();
  spec.dtype = GetParam();
  auto cache = (*backend)->make_kv_cache(spec);
  ASSERT_TRUE(cache.has_value());

  const backend::AttentionShape shape{4, 2, 6, 1.0f};
  testing::Tensor qkv = testing::random_tensor(3, 8 * 6, 11);
  const testing::Tensor original = qkv;
  const std::vector<float> inv_freqs = {1.0f, 0.1f};
  const backend::RopeParams rope{RopeStyle::kInterleaved, 4, inv_freqs};
  const std::vector<std::int32_t> positions = {0, 7, 100};
  const std::vector<std::int64_t> slots = {4, 19, 10};
  testing::Tensor cos_sin(3, 4);
  (*backend)->rope_tables(rope, positions, cos_sin.view());
  backend::PagedKvView view;
  view.block_size = 4;
  view.slots = slots;
  (*backend)->rope_and_write_kv(qkv.view(), shape, rope, cos_sin.view(), view, **cache, 1);

  const KvLayer layer = static_cast<const PagedCache&>(**cache).layer(1);
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int32_t head = 0; head < 2; ++head) {
      std::vector<double> k;
      for (std::int32_t d = 0; d < 6; ++d) {
        k.push_back(original.at(t, (4 + head) * 6 + d));
      }
      testing::naive::rotate(k, inv_freqs, rope.style, positions[static_cast<std::size_t>(t)]);
      const std::int64_t slot = slots[static_cast<std::size_t>(t)];
      for (std::int32_t d = 0; d < 6; ++d) {
        const double unit = GetParam() == KvDType::kF32 ? 1e-6 : 1e-2;
        EXPECT_NEAR(element(layer, false, slot, head, d), k[static_cast<std::size_t>(d)], unit);
        EXPECT_EQ(element(layer, true, slot, head, d),
                  testing::naive::round_to(layer.dtype, original.at(t, (6 + head) * 6 + d)));
        // Past rope_dim K does not rotate.
        if (d >= 4) {
          EXPECT_EQ(element(layer, false, slot, head, d),
                    testing::naive::round_to(layer.dtype, k[static_cast<std::size_t>(d)]));
        }
      }
    }
  }
}

TEST_P(WriteKvTest, NothingElseIsWritten) {
  ThreadPool pool(1);
  auto backend = make_cpu_backend({.isa = CpuIsa::kScalar}, pool);
  KvCacheSpec spec = small_spec();
  spec.dtype = GetParam();
  auto cache = (*backend)->make_kv_cache(spec);
  testing::Tensor qkv = testing::random_tensor(1, 8 * 6, 11);
  const std::vector<float> inv_freqs = {1.0f};
  const backend::RopeParams rope{RopeStyle::kHalves, 2, inv_freqs};
  testing::Tensor cos_sin(1, 2);
  const std::vector<std::int64_t> slots = {13};
  backend::PagedKvView view;
  view.block_size = 4;
  view.slots = slots;
  (*backend)->rope_and_write_kv(qkv.view(), {4, 2, 6, 1.0f}, rope, cos_sin.view(), view, **cache,
                                2);
  const auto& paged = static_cast<const PagedCache&>(**cache);
  const auto num_written = [](const std::byte* from, std::size_t size) {
    return std::count_if(from, from + size, [](std::byte b) { return b != std::byte{0}; });
  };
  const KvLayer layer = paged.layer(2);
  const std::size_t vector_bytes = GetParam() == KvDType::kF32 ? 6 * 4 : 6 * 2;
  std::int64_t num_expected = 0;
  for (std::int64_t head = 0; head < 2; ++head) {
    const std::byte* k = layer.base + 13 / 4 * layer.block_bytes + head * layer.head_bytes +
                         static_cast<std::int64_t>(13 % 4 * vector_bytes);
    num_expected += num_written(k, vector_bytes) + num_written(k + layer.v_offset, vector_bytes);
  }
  EXPECT_GT(num_expected, 0);
  EXPECT_EQ(num_written(paged.layer(0).base, PagedCache::bytes_per_block(spec) * 5), num_expected);
}

std::string type_name(const ::testing::TestParamInfo<KvDType>& tested) {
  if (tested.param == KvDType::kF32) return "f32";
  return tested.param == KvDType::kF16 ? "f16" : "bf16";
}

INSTANTIATE_TEST_SUITE_P(Types, WriteKvTest,
                         ::testing::Values(KvDType::kF32, KvDType::kF16, KvDType::kBF16),
                         type_name);

}  // namespace
}  // namespace tvllm::cpu
