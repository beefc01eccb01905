// SPDX-License-Identifier: Apache-2.0
// What the parity cases do not ask: exactness of the quantized product, strided views, empty
// batches, NaN and infinity, memory.
#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/ops/naive_ops.h"
#include "tests/support/ops/ragged_batch.h"
#include "tests/support/ops/random_tensors.h"
#include "tests/unit/backend_cpu/tiny_model.h"

namespace tvllm::cpu {
namespace {

using testing::random_integers;
using testing::random_tensor;
using testing::random_weights;
using testing::Tensor;
using testing::Weights;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr DType kAllTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                               DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                               DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

class CpuBackendTest : public ::testing::TestWithParam<CpuIsa> {
 protected:
  CpuBackendTest() : pool_(2), backend_(std::move(*make_cpu_backend({.isa = GetParam()}, pool_))) {}

  // `weights` outlives the matrix, as a mapped file does.
  std::unique_ptr<backend::Matrix> matrix(const Weights& weights) {
    const WeightView view = weights.view();
    return std::move(*backend_->make_matrix({&view, 1}));
  }
  std::unique_ptr<backend::Buffer> vector(const Weights& weights) {
    return std::move(*backend_->make_vector(weights.view()));
  }

  ThreadPool pool_;
  std::unique_ptr<backend::Backend> backend_;
};

// Multiples of 1/32 up to 127/32, with the largest in each group: int8 holds them exactly.
Tensor representable_activations(std::int64_t num_rows, std::int64_t num_cols) {
  const std::vector<std::int32_t> integers =
      random_integers(static_cast<std::size_t>(num_rows * num_cols), 255, 9);
  Tensor x(num_rows, num_cols);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const int value = i % 16 == 5 ? -127 : integers[i] - 127;
    x.data[i] = static_cast<float>(value) / 32.0f;
  }
  return x;
}

TEST_P(CpuBackendTest, ProductsOfActivationsThatInt8HoldsAreExact) {
  for (const DType dtype : kAllTypes) {
    const Weights weights = random_weights(dtype, 13, 768, 3);
    Tensor x = representable_activations(5, 768);
    Tensor out(5, 13);
    backend_->matmul(*matrix(weights), x.view(), nullptr, out.view());
    const testing::naive::Matrix expected =
        testing::naive::matmul(testing::naive::Matrix(x), testing::naive::dequantize(weights));
    EXPECT_LT(testing::naive::nmse(out.data, expected.data), 1e-11) << dtype_info(dtype).name;
  }
}

// Blocks whose integers are all at an end of their range; the bytes [first, last) of a block are
// everything but its half-precision scales.
Weights extreme_weights(DType dtype, std::byte fill) {
  struct Place {
    DType dtype;
    std::ptrdiff_t first, last;
  };
  constexpr Place kPlaces[] = {{DType::kQ4_0, 2, 18},  {DType::kQ4_1, 4, 20},
                               {DType::kQ5_0, 2, 22},  {DType::kQ5_1, 4, 24},
                               {DType::kQ8_0, 2, 34},  {DType::kQ4_K, 4, 144},
                               {DType::kQ5_K, 4, 176}, {DType::kQ6_K, 0, 192}};
  Weights weights = random_weights(dtype, 17, 768, 3);
  const std::int64_t block_bytes = dtype_info(dtype).block_bytes;
  for (const Place& place : kPlaces) {
    if (place.dtype != dtype) continue;
    for (auto block = weights.bytes.begin() + 1; block < weights.bytes.end();
         block += block_bytes) {
      std::fill(block + place.first, block + place.last, fill);
      // Q6_K has 8-bit scales too: the most negative one.
      if (dtype == DType::kQ6_K) std::fill(block + 192, block + 208, std::byte{0x80});
    }
  }
  return weights;
}

TEST_P(CpuBackendTest, TheLargestProductsNeitherSaturateNorOverflow) {
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    for (const int fill : {0x00, 0x7f, 0x80, 0xff}) {
      const Weights weights = extreme_weights(dtype, static_cast<std::byte>(fill));
      for (const float value : {1.0f, -1.0f}) {
        Tensor x(3, 768);
        std::fill(x.data.begin(), x.data.end(), value);
        Tensor out(3, 17);
        backend_->matmul(*matrix(weights), x.view(), nullptr, out.view());
        const testing::naive::Matrix expected =
            testing::naive::matmul(testing::naive::Matrix(x), testing::naive::dequantize(weights));
        EXPECT_LT(testing::naive::nmse(out.data, expected.data), 1e-11)
            << dtype_info(dtype).name << ", bytes " << fill << ", x " << value;
      }
    }
  }
}

TEST_P(CpuBackendTest, ViewsMayBeColumnRangesOfWiderMatrices) {
  const Weights weights = random_weights(DType::kQ4_0, 10, 64, 3);
  Tensor wide_x = random_tensor(4, 100, 5);
  Tensor wide_out(4, 30);
  backend_->matmul(*matrix(weights), wide_x.view().cols(7, 64), nullptr,
                   wide_out.view().cols(11, 10));
  Tensor x(4, 64);
  for (std::int64_t t = 0; t < 4; ++t) {
    std::memcpy(x.row(t), wide_x.row(t) + 7, 64 * sizeof(float));
  }
  Tensor out(4, 10);
  backend_->matmul(*matrix(weights), x.view(), nullptr, out.view());
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t c = 0; c < 30; ++c) {
      const bool inside = c >= 11 && c < 21;
      EXPECT_EQ(wide_out.row(t)[c], inside ? out.row(t)[c - 11] : 0.0f) << t << ", " << c;
    }
  }
}

TEST_P(CpuBackendTest, NormsMayWriteOverTheirInput) {
  Tensor x = random_tensor(3, 50, 1);
  const auto weight = vector(random_weights(DType::kF32, 1, 50, 2));
  Tensor out(3, 50);
  backend_->rms_norm(x.view(), *weight, 1e-5f, out.view());
  backend_->rms_norm(x.view(), *weight, 1e-5f, x.view());
  EXPECT_EQ(x.data, out.data);
}

TEST_P(CpuBackendTest, HeadsAreNormalizedEachOnItsOwn) {
  const auto weight = vector(random_weights(DType::kF32, 1, 20, 2));
  for (const std::int64_t num_tokens : {1, 3, 400}) {
    Tensor x = random_tensor(num_tokens, 100, 1);
    const Tensor original = x;
    backend_->rms_norm_heads(x.view().cols(20, 60), *weight, 1e-5f);
    for (std::int64_t h = 0; h < 5; ++h) {
      Tensor head(num_tokens, 20);
      for (std::int64_t t = 0; t < num_tokens; ++t) {
        std::memcpy(head.row(t), original.row(t) + 20 * h, 20 * sizeof(float));
      }
      if (h > 0 && h < 4) backend_->rms_norm(head.view(), *weight, 1e-5f, head.view());
      for (std::int64_t t = 0; t < num_tokens; ++t) {
        EXPECT_EQ(std::memcmp(head.row(t), x.row(t) + 20 * h, 20 * sizeof(float)), 0)
            << "head " << h << " of token " << t;
      }
    }
  }
}

TEST_P(CpuBackendTest, ANormOfZerosIsZero) {
  Tensor x(2, 8);
  Tensor out = random_tensor(2, 8, 1);
  backend_->rms_norm(x.view(), *vector(random_weights(DType::kF32, 1, 8, 2)), 1e-5f, out.view());
  EXPECT_EQ(out.data, std::vector<float>(16, 0.0f));
}

TEST_P(CpuBackendTest, EmptyBatchesDoNothing) {
  const Weights file = random_weights(DType::kQ4_1, 8, 32, 1);
  const auto weights = matrix(file);
  const auto norm = vector(random_weights(DType::kF32, 1, 32, 1));
  Tensor none(0, 32);
  Tensor none_out(0, 8);
  Tensor none_wide(0, 64);
  backend_->embed(*weights, {}, 1.0f, none.view());
  backend_->matmul(*weights, none.view(), nullptr, none_out.view());
  backend_->rms_norm(none.view(), *norm, 1e-5f, none.view());
  backend_->add_rms_norm(none.view(), none.view(), *norm, 1e-5f, none.view());
  backend_->silu_and_mul(none_wide.view(), none.view());
  backend_->gelu_and_mul(none_wide.view(), none.view());
  backend_->gather_rows(none.view(), {}, none.view());
  backend_->synchronize();
  testing::TinyModel model(*backend_, {});
  testing::RaggedBatch batch(16);
  EXPECT_EQ(model.forward(batch.view()).num_rows, 0);
}

TEST_P(CpuBackendTest, ASequenceWithoutNewTokensTakesNoRows) {
  testing::TinyModel model(*backend_, {});
  testing::BlockDealer dealer(20, 16, 1);
  testing::RaggedBatch batch(16);
  batch.add({5, 5, dealer.take(5), {1, 2, 3, 4, 5}});
  batch.add({9, 0, dealer.take(9), {}});
  batch.add({2, 2, dealer.take(2), {6, 7}});
  EXPECT_EQ(model.forward(batch.view()).num_rows, 7);
}

// Rows 0 and 2 of 3 are as they were without the bad value in row 1.
void expect_others_untouched(const Tensor& clean, const Tensor& got) {
  for (const std::int64_t row : {0, 2}) {
    EXPECT_EQ(std::memcmp(clean.row(row), got.row(row),
                          static_cast<std::size_t>(clean.num_cols) * sizeof(float)),
              0)
        << "row " << row;
  }
}

TEST_P(CpuBackendTest, ANanOrAnInfinityInOneTokenStaysInItsRowOfAProduct) {
  for (const DType dtype : {DType::kQ4_1, DType::kQ6_K, DType::kF16}) {
    const Weights file = random_weights(dtype, 9, 256, 1);
    const auto weights = matrix(file);
    Tensor x = random_tensor(3, 256, 2);
    Tensor clean(3, 9);
    backend_->matmul(*weights, x.view(), nullptr, clean.view());
    for (const float bad : {kNan, kInf, -kInf, 3e38f}) {
      Tensor poisoned = x;
      poisoned.row(1)[100] = bad;
      Tensor out(3, 9);
      backend_->matmul(*weights, poisoned.view(), nullptr, out.view());
      expect_others_untouched(clean, out);
      for (std::int64_t r = 0; r < 9 && !std::isfinite(bad); ++r) {
        EXPECT_FALSE(std::isfinite(out.row(1)[r])) << dtype_info(dtype).name << ", " << bad;
      }
    }
  }
}

TEST_P(CpuBackendTest, ANanOrAnInfinityInOneTokenStaysInItsRowOfNormsAndGates) {
  const auto weight = vector(random_weights(DType::kF32, 1, 64, 2));
  Tensor x = random_tensor(3, 64, 2);
  Tensor clean_norm(3, 64);
  Tensor clean_gate(3, 32);
  Tensor clean_gelu(3, 32);
  backend_->rms_norm(x.view(), *weight, 1e-5f, clean_norm.view());
  backend_->silu_and_mul(x.view(), clean_gate.view());
  backend_->gelu_and_mul(x.view(), clean_gelu.view());
  for (const float bad : {kNan, kInf, -kInf, 3e38f}) {
    Tensor poisoned = x;
    poisoned.row(1)[7] = bad;
    Tensor norm(3, 64);
    Tensor gate(3, 32);
    Tensor gelu(3, 32);
    backend_->rms_norm(poisoned.view(), *weight, 1e-5f, norm.view());
    backend_->silu_and_mul(poisoned.view(), gate.view());
    backend_->gelu_and_mul(poisoned.view(), gelu.view());
    expect_others_untouched(clean_norm, norm);
    expect_others_untouched(clean_gate, gate);
    expect_others_untouched(clean_gelu, gelu);
  }
}

TEST_P(CpuBackendTest, ANanInOneSequenceIsSeenByNoOther) {
  const backend::AttentionShape shape{2, 1, 16, 0.25f};
  const std::vector<float> inv_freqs = {1.0f};
  const backend::RopeParams rope{RopeStyle::kHalves, 2, inv_freqs};
  auto cache = std::move(*backend_->make_kv_cache({1, 1, 16, 4, 20, backend::KvDType::kF16}));
  testing::BlockDealer dealer(20, 4, 1);
  testing::RaggedBatch batch(4);
  for (int s = 0; s < 3; ++s) {
    batch.add({9, 9, dealer.take(9), {}});
  }
  const auto attend = [&](Tensor qkv) {
    Tensor cos_sin(27, 2);
    Tensor out(27, 32);
    backend_->rope_tables(rope, batch.view().positions, cos_sin.view());
    backend_->rope_and_write_kv(qkv.view(), shape, rope, cos_sin.view(), batch.kv_view(), *cache,
                                0);
    backend_->attention(qkv.view(), shape, batch.view(), 0, *cache, 0, out.view());
    return out;
  };
  const Tensor x = random_tensor(27, 64, 2);
  const Tensor clean = attend(x);
  for (const float bad : {kNan, kInf, -kInf, 3e38f}) {
    for (const std::int64_t col : {3, 35, 50}) {  // in Q, K and V of the fourth token of the second
      Tensor poisoned = x;
      poisoned.row(12)[col] = bad;
      const Tensor got = attend(poisoned);
      for (std::int64_t t = 0; t < 27; ++t) {
        const bool may_differ = t >= 12 && t < 18;
        if (may_differ) continue;
        EXPECT_EQ(std::memcmp(clean.row(t), got.row(t), 32 * sizeof(float)), 0)
            << "token " << t << ", " << bad << " in column " << col;
      }
    }
  }
}

TEST_P(CpuBackendTest, VectorsBecomeFloats) {
  const Weights weights = random_weights(DType::kF16, 1, 7, 3);
  const auto buffer = vector(weights);
  ASSERT_EQ(buffer->size_bytes(), 7 * sizeof(float));
  const float* values = static_cast<const float*>(buffer->data());
  for (std::int64_t c = 0; c < 7; ++c) {
    EXPECT_EQ(static_cast<double>(values[c]), testing::naive::weight_at(weights, 0, c));
  }
}

TEST_P(CpuBackendTest, AnEmptyOrCutVectorIsRefused) {
  const Weights weights = random_weights(DType::kQ8_0, 1, 32, 3);
  for (const auto& [rows, cols] : {std::pair(0, 32), std::pair(1, 0), std::pair(1, 31)}) {
    WeightView view = weights.view();
    view.num_rows = rows;
    view.num_cols = cols;
    const auto buffer = backend_->make_vector(view);
    ASSERT_FALSE(buffer.has_value());
    EXPECT_EQ(buffer.error().message, "cpu vector: " + std::to_string(rows) + " x " +
                                          std::to_string(cols) +
                                          " Q8_0 is empty or no whole number of blocks");
  }
}

TEST_P(CpuBackendTest, MemoryIsZeroAndAtACacheLine) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
    const auto buffer = backend_->allocate(size);
    ASSERT_EQ(buffer->size_bytes(), size);
    const auto* bytes = static_cast<const std::byte*>(buffer->data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u);
    EXPECT_EQ(bytes[0], std::byte{0});
    EXPECT_EQ(bytes[size - 1], std::byte{0});
  }
  EXPECT_EQ(backend_->allocate(0)->size_bytes(), 0u);
}

TEST_P(CpuBackendTest, MemoryThatIsNotThereIsSaidSo) {
  EXPECT_THROW((void)backend_->allocate(std::size_t{1} << 60), std::bad_alloc);
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuBackendTest, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& tested) {
                           return std::string(cpu_isa_name(tested.param));
                         });

}  // namespace
}  // namespace tvllm::cpu
