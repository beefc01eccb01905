// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cpu/avx2/activations.h"
#include "backend/cpu/cpu_isa.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::cpu::avx2 {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr unsigned kBoth = kBytes | kShorts;

// A row in both forms.
struct Quantized {
  explicit Quantized(const std::vector<float>& x) {
    const auto num_cols = static_cast<std::int64_t>(x.size());
    const KernelTable& kernels = kernel_table_of(CpuIsa::kAvx2);
    bytes.resize(kernels.quantized_row_bytes(num_cols, kBoth) / sizeof(float));
    auto* row = reinterpret_cast<std::byte*>(bytes.data());
    kernels.quantize_rows(x.data(), 0, 1, num_cols, kBoth, row);
    header = reinterpret_cast<const RowHeader*>(row);
    groups = reinterpret_cast<const ByteGroup*>(row + sizeof(RowHeader));
    shorts = reinterpret_cast<const std::int16_t*>(groups + num_cols / 32);
  }
  int multiplier(std::size_t c) const { return groups[c / 32].multipliers[c % 32 / 16] & 0xffff; }
  int byte(std::size_t c) const { return groups[c / 32].values[c % 32]; }

  std::vector<float> bytes;  // floats, so that they are aligned
  const RowHeader* header = nullptr;
  const ByteGroup* groups = nullptr;
  const std::int16_t* shorts = nullptr;
};

class Avx2ActivationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto isa = resolve_cpu_isa(CpuIsa::kAvx2);
    if (!isa.has_value()) GTEST_SKIP() << isa.error().message;
  }
};

// Rows of very unequal sixteens: from one to the other the deviation falls by half.
std::vector<float> uneven_row(std::size_t num_cols) {
  std::vector<float> x = testing::random_tensor(1, static_cast<std::int64_t>(num_cols), 4).data;
  for (std::size_t c = 0; c < num_cols; ++c) {
    x[c] *= std::ldexp(1.0f, -static_cast<int>(c / 16 % 9));
  }
  return x;
}

TEST_F(Avx2ActivationsTest, BytesAreWithinHalfAStepOfTheirSixteen) {
  const std::vector<float> x = uneven_row(576);
  const Quantized q(x);
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double step = static_cast<double>(q.header->byte_scale) * q.multiplier(c);
    EXPECT_LE(std::fabs(step * q.byte(c) - static_cast<double>(x[c])), 0.5001 * step) << c;
    EXPECT_LE(std::abs(q.byte(c)), 127) << c;
  }
}

// A multiplier is an integer, so a sixteen of 1/256 of the row's size loses 1/32 of its precision.
TEST_F(Avx2ActivationsTest, StepsAreAsFineAsTheLargestOfTheSixteenAllows) {
  const std::vector<float> x = uneven_row(576);
  const Quantized q(x);
  for (std::size_t c = 0; c < x.size(); c += 16) {
    float largest = 0.0f;
    for (std::size_t i = c; i < c + 16; ++i) {
      largest = std::max(largest, std::fabs(x[i]));
    }
    const double step = static_cast<double>(q.header->byte_scale) * q.multiplier(c);
    EXPECT_LE(step, static_cast<double>(largest) / 127.0 * (1.0 + 1.0 / 16)) << c;
  }
}

TEST_F(Avx2ActivationsTest, MultipliersStandTwiceAndInRange) {
  const Quantized q(uneven_row(576));
  for (std::size_t g = 0; g < 576 / 32; ++g) {
    for (const std::int32_t word : q.groups[g].multipliers) {
      EXPECT_EQ(word >> 16, word & 0xffff) << g;
      EXPECT_GE(word & 0xffff, 1) << g;
      EXPECT_LE(word & 0xffff, kLargestMultiplier) << g;
    }
  }
}

TEST_F(Avx2ActivationsTest, SumsAreThoseOfTheQuantizedValues) {
  const Quantized q(uneven_row(576));
  for (std::size_t g = 0; g < 576 / 32; ++g) {
    int sum = 0;
    for (std::size_t c = 32 * g; c < 32 * g + 32; ++c) {
      sum += q.multiplier(c) * q.byte(c);
    }
    EXPECT_EQ(q.groups[g].sum, static_cast<float>(sum)) << g;
  }
}

TEST_F(Avx2ActivationsTest, ShortsAreWithinHalfAStepOfTheRow) {
  const std::vector<float> x = uneven_row(576);
  const Quantized q(x);
  const auto step = static_cast<double>(q.header->short_scale);
  int largest = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    EXPECT_LE(std::fabs(step * q.shorts[c] - static_cast<double>(x[c])), 0.5001 * step) << c;
    largest = std::max<int>(largest, std::abs(q.shorts[c]));
  }
  EXPECT_EQ(largest, kLargestShort);
}

TEST_F(Avx2ActivationsTest, TiesGoToEven) {
  std::vector<float> x(32);
  const std::vector<float> first = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 3.49f, -3.51f};
  std::copy(first.begin(), first.end(), x.begin());
  const Quantized q(x);
  const std::vector<int> expected = {127, 0, 2, 2, 0, -2, -2, 3, -4};
  for (std::size_t c = 0; c < expected.size(); ++c) {
    EXPECT_EQ(q.byte(c), expected[c]) << c;
  }
}

TEST_F(Avx2ActivationsTest, TheLargestFloatIsQuantizedLikeAnyOther) {
  const float largest = std::numeric_limits<float>::max();
  std::vector<float> x(32, largest);
  x[1] = -largest;
  const Quantized q(x);
  EXPECT_TRUE(std::isfinite(q.header->byte_scale) && std::isfinite(q.header->short_scale));
  EXPECT_EQ(q.byte(0), 127);
  EXPECT_EQ(q.byte(1), -127);
  EXPECT_EQ(q.shorts[1], -kLargestShort);
}

TEST_F(Avx2ActivationsTest, ARowOfNearlyZerosHasScaleZero) {
  for (const float tiny : {0.0f, -0.0f, 1e-38f, 1e-45f, -1e-31f}) {
    const Quantized q(std::vector<float>(64, tiny));
    EXPECT_EQ(q.header->byte_scale, 0.0f) << tiny;
    EXPECT_EQ(q.header->short_scale, 0.0f) << tiny;
    EXPECT_EQ(q.byte(0), 0) << tiny;
    EXPECT_EQ(q.groups[1].sum, 0.0f) << tiny;
  }
}

TEST_F(Avx2ActivationsTest, ANanOrAnInfinityMakesTheScaleOfItsRowNan) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    std::vector<float> x(64, 1.0f);
    x[40] = bad;
    const Quantized q(x);
    EXPECT_TRUE(std::isnan(q.header->byte_scale)) << bad;
    EXPECT_TRUE(std::isnan(q.header->short_scale)) << bad;
    EXPECT_EQ(q.byte(0), 0) << bad;
    EXPECT_EQ(q.shorts[0], 0) << bad;
  }
}

}  // namespace
}  // namespace tvllm::cpu::avx2
