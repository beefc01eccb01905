// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/scalar/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tvllm::cpu::scalar {
namespace {

constexpr std::size_t kGroup = kActivationGroup;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Two groups; the first is under test, the second holds 127 and zeros.
struct Quantized {
  explicit Quantized(std::vector<float> first_group) {
    first_group.resize(kGroup);
    first_group.push_back(127.0f);
    first_group.resize(2 * kGroup);
    bytes.resize(quantized_row_bytes(2 * kGroup) / sizeof(float));
    quantize_rows(first_group.data(), 0, 1, 2 * kGroup, reinterpret_cast<std::byte*>(bytes.data()));
    row = activation_row(reinterpret_cast<const std::byte*>(bytes.data()), 2 * kGroup);
  }
  std::vector<float> bytes;  // floats, so that they are aligned
  ActivationRow row;
};

TEST(ActivationsTest, TheLargestMagnitudeBecomes127) {
  const Quantized q({0.5f, -2.0f, 1.0f});
  EXPECT_EQ(q.row.scales[0], 2.0f / 127.0f);
  EXPECT_EQ(q.row.values[1], -127);
  EXPECT_EQ(q.row.values[0], 32);  // 31.75
  EXPECT_EQ(q.row.values[2], 64);  // 63.5, a tie, to even
  EXPECT_EQ(q.row.values[3], 0);
}

TEST(ActivationsTest, TiesGoToEven) {
  const Quantized q({127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 3.49f, -3.51f});
  const std::vector<int> expected = {127, 0, 2, 2, 0, -2, -2, 3, -4};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(q.row.values[i], expected[i]) << i;
  }
}

TEST(ActivationsTest, SumsAreThoseOfTheQuantizedValues) {
  const Quantized q({127.0f, 0.4f, 0.4f, 0.4f, -3.0f});
  EXPECT_EQ(q.row.sums[0], 124.0f);
  EXPECT_EQ(q.row.sums[1], 127.0f);
}

TEST(ActivationsTest, GroupsHaveScalesOfTheirOwn) {
  const Quantized q({1e6f, 1.0f});
  EXPECT_EQ(q.row.scales[1], 1.0f);
  EXPECT_EQ(q.row.values[kGroup], 127);
}

TEST(ActivationsTest, ZerosAndWhatIsNearlyZeroHaveScaleZero) {
  for (const float tiny : {0.0f, -0.0f, 1e-38f, 1e-45f, -1e-31f}) {
    const Quantized q({tiny, tiny});
    EXPECT_EQ(q.row.scales[0], 0.0f) << tiny;
    EXPECT_EQ(q.row.values[0], 0) << tiny;
    EXPECT_EQ(q.row.sums[0], 0.0f) << tiny;
  }
}

TEST(ActivationsTest, TheLargestFloatIsQuantizedLikeAnyOther) {
  const float largest = std::numeric_limits<float>::max();
  const Quantized q({largest, -largest, largest / 2});
  EXPECT_TRUE(std::isfinite(q.row.scales[0]));
  EXPECT_EQ(q.row.values[0], 127);
  EXPECT_EQ(q.row.values[1], -127);
}

TEST(ActivationsTest, ANanOrAnInfinityPoisonsItsGroupAlone) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    const Quantized q({1.0f, bad, 2.0f});
    EXPECT_TRUE(std::isnan(q.row.scales[0])) << bad;
    EXPECT_TRUE(std::isnan(q.row.sums[0])) << bad;
    EXPECT_EQ(q.row.values[0], 0) << bad;
    EXPECT_EQ(q.row.scales[1], 1.0f) << bad;
  }
}

TEST(ActivationsTest, RowsMayBeFurtherApartThanTheyAreLong) {
  std::vector<float> x(3 * 40, 9.0f);
  for (std::size_t r = 0; r < 3; ++r) {
    x[r * 40] = static_cast<float>(127 * (r + 1));
    for (std::size_t c = 1; c < 32; ++c)
      x[r * 40 + c] = 0.0f;
  }
  const std::size_t row_bytes = quantized_row_bytes(32);
  std::vector<float> bytes(3 * row_bytes / sizeof(float));
  auto* out = reinterpret_cast<std::byte*>(bytes.data());
  quantize_rows(x.data(), 40, 3, 32, out);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(activation_row(out + r * row_bytes, 32).scales[0], static_cast<float>(r + 1));
  }
}

}  // namespace
}  // namespace tvllm::cpu::scalar
